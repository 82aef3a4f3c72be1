#include "harness/symbolise.h"

#include <cxxabi.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "harness/child_process.h"

namespace redraft::harness {
namespace {

constexpr const char* kAddr2line = "/usr/bin/addr2line";
constexpr std::chrono::seconds kLimit{10};

struct Frame {
  std::string module, symbol, offset;
  bool isFrame() const { return !module.empty(); }
  /// Without a symbol, `offset` counts from the module's start, as addr2line wants it.
  bool isModuleOffset() const { return symbol.empty(); }
};

/// "MODULE(SYMBOL+OFFSET)[ADDRESS]", with a space before '[' as backtrace_symbols() has it, or without one as
/// backtrace_symbols_fd(); an empty frame for anything else.
Frame parseFrame(const std::string& line) {
  const std::size_t bracket = line.rfind('[');
  const std::size_t last = bracket == std::string::npos ? bracket : line.find_last_not_of(' ', bracket - 1);
  const std::size_t close = last != std::string::npos && line[last] == ')' ? last : std::string::npos;
  const std::size_t open = line.rfind('('), plus = line.rfind('+', close);
  if (open == std::string::npos || open == 0 || line.find(' ') < open || close == std::string::npos ||
      plus == std::string::npos || plus < open || !line.ends_with("]"))
    return {};
  return {line.substr(0, open), line.substr(open + 1, plus - open - 1), line.substr(plus + 1, close - plus - 1)};
}

std::string moduleName(const Frame& frame) { return std::filesystem::path(frame.module).filename().string(); }

std::string plainText(const Frame& frame) {
  const std::string where = moduleName(frame) + " + " + frame.offset;
  return frame.symbol.empty() ? where : demangle(frame.symbol) + " + " + frame.offset + " (" + moduleName(frame) + ")";
}

/// One line for each offset, "FUNCTION at FILE:LINE"; empty when addr2line has no answer.
std::vector<std::string> addr2line(const std::string& module, const std::vector<std::string>& offsets) {
  ChildCommand command{{kAddr2line, "-C", "-f", "-p", "-s", "-e", module}, {}, false};
  command.arguments.insert(command.arguments.end(), offsets.begin(), offsets.end());
  ChildProcess child(command);
  std::string output;
  const auto until = std::chrono::steady_clock::now() + kLimit;
  while (!child.ended() && std::chrono::steady_clock::now() < until)
    child.wait(std::chrono::milliseconds(20), -1, output);
  if (!child.ended() || !child.ended()->clean()) return {};
  child.drain(output);
  std::vector<std::string> lines = split(output, '\n');
  lines.resize(offsets.size());
  return lines;
}

/// Module → (offset → name), for the frames that hold no name themselves.
std::map<std::string, std::map<std::string, std::string>> lookUp(const std::vector<Frame>& frames) {
  std::map<std::string, std::vector<std::string>> wanted;
  for (const Frame& frame : frames)
    if (frame.isFrame() && frame.isModuleOffset()) wanted[frame.module].push_back(frame.offset);
  std::map<std::string, std::map<std::string, std::string>> names;
  for (const auto& [module, offsets] : wanted) {
    const std::vector<std::string> lines = addr2line(module, offsets);
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (!lines[i].empty() && !lines[i].starts_with("??")) names[module][offsets[i]] = lines[i];
  }
  return names;
}

}  // namespace

std::string demangle(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? std::string(name.get()) : symbol;
}

std::vector<std::string> symboliseFrames(const std::vector<std::string>& lines) {
  std::vector<Frame> frames;
  for (const std::string& line : lines) frames.push_back(parseFrame(line));
  std::map<std::string, std::map<std::string, std::string>> names;
  try {
    if (::access(kAddr2line, X_OK) == 0) names = lookUp(frames);
  } catch (const Error&) {
    names.clear();  // what follows names the frames as well as they name themselves
  }
  std::vector<std::string> named;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Frame& frame = frames[i];
    if (!frame.isFrame()) {
      named.push_back(lines[i]);
      continue;
    }
    const auto& known = names[frame.module];
    const auto found = frame.isModuleOffset() ? known.find(frame.offset) : known.end();
    named.push_back(found != known.end() ? found->second : plainText(frame));
  }
  return named;
}

}  // namespace redraft::harness
