#include "harness/runner_stacks.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace redraft::harness {
namespace {

constexpr std::size_t kThreadNameBytes = 15;  // what the kernel keeps
constexpr std::size_t kMaxLines = 32;         // of one stack; all are in runner.log

/// The number in "(123)" from there on; -1 when there is none.
std::int64_t numberIn(const std::string& line, std::size_t from) {
  const std::size_t open = line.find('(', from);
  std::int64_t number = -1;
  if (open != std::string::npos) std::from_chars(line.data() + open + 1, line.data() + line.size(), number);
  return number;
}

/// "… in thread NAME (NUMBER); stack", "… stack of thread NAME (NUMBER), innermost …"
std::optional<RunnerStack> headOf(const std::string& line) {
  const bool fatal = line.find("ended by SIG") != std::string::npos;
  const std::string_view before = fatal ? " in thread " : "stack of thread ";
  const std::size_t at = line.find(before);
  if (at == std::string::npos) return fatal ? std::optional(RunnerStack{"", -1, true, {line}}) : std::nullopt;
  const std::size_t name = at + before.size();
  return RunnerStack{line.substr(name, line.find(" (", name) - name), numberIn(line, name), fatal, {line}};
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
