#include "harness/runner_stacks.h"

#include <optional>
#include <string_view>

namespace redraft::harness {
namespace {

constexpr std::size_t kThreadNameBytes = 15;  // what the kernel keeps
constexpr std::size_t kMaxLines = 32;         // of one stack; all are in runner.log

/// What stands between the two; nothing where one of them is missing.
std::optional<std::string> between(const std::string& line, std::string_view before, std::string_view after) {
  const std::size_t start = line.find(before);
  if (start == std::string::npos) return std::nullopt;
  const std::size_t from = start + before.size(), end = line.find(after, from);
  if (end == std::string::npos) return std::nullopt;
  return line.substr(from, end - from);
}

std::optional<RunnerStack> headOf(const std::string& line) {
  if (line.find("ended by SIG") != std::string::npos)
    return RunnerStack{between(line, " in thread ", "; stack").value_or(""), true, {line}};
  if (const auto thread = between(line, "stack of thread ", ", innermost")) return RunnerStack{*thread, false, {line}};
  return std::nullopt;
}

/// Lines of one stack, with those that repeat counted, and those beyond the bound.
class StackLines {
 public:
  explicit StackLines(std::vector<std::string>& lines) : lines_(lines) {}

  void add(const std::string& line) {
    if (line == last_) {
      ++repeats_;
      return;
    }
    flush();
    last_ = line;
    put(line);
  }

  void finish() {
    flush();
    if (left_ > 0) lines_.push_back("  (" + std::to_string(left_) + " more lines in runner.log)");
  }

 private:
  void flush() {
    if (repeats_ > 0) put("  (the same " + std::to_string(repeats_) + " more times)");
    repeats_ = 0;
  }
  void put(const std::string& line) {
    if (lines_.size() < kMaxLines)
      lines_.push_back(line);
    else
      ++left_;
  }

  std::vector<std::string>& lines_;
  std::string last_;
  std::size_t repeats_ = 0, left_ = 0;
};

}  // namespace

std::vector<RunnerStack> runnerStacks(const std::vector<std::string>& log) {
  std::vector<RunnerStack> stacks;
  for (auto line = log.begin(); line != log.end();) {
    std::optional<RunnerStack> stack = headOf(*line++);
    if (!stack) continue;
    StackLines frames(stack->lines);
    while (line != log.end() && !line->starts_with("redraft: ")) frames.add(*line++);
    frames.finish();
    stacks.push_back(std::move(*stack));
  }
  return stacks;
}

std::string threadNameOf(const std::string& role) { return role.substr(0, kThreadNameBytes); }

}  // namespace redraft::harness
