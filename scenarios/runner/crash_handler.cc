#include "scenarios/runner/crash_handler.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace redraft::scenarios {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr std::size_t kStackBytes = 256 * 1024;
constexpr int kMaxFrames = 64;

alignas(16) std::byte alternateStack[kStackBytes];

const char* nameOf(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGILL:
      return "SIGILL";
    case SIGFPE:
      return "SIGFPE";
    case SIGABRT:
      return "SIGABRT";
    default:
      return "a signal";
  }
}

void say(std::string_view text) {
  // Nothing can be done about a failed write here.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

/// Only calls that are safe in a signal handler: write, backtrace (its library was loaded at installation), raise.
void onSignal(int signal) {
  say("redraft: error: ended by ");
  say(nameOf(signal));
  say("; stack, innermost first:\n");
  void* frames[kMaxFrames];
  const int count = ::backtrace(frames, kMaxFrames);
  ::backtrace_symbols_fd(frames, count, STDERR_FILENO);
  ::raise(signal);  // SA_RESETHAND has put the default action back
}

}  // namespace

void installCrashHandler() {
  void* frame = nullptr;
  ::backtrace(&frame, 1);
  stack_t stack{};
  stack.ss_sp = alternateStack;
  stack.ss_size = kStackBytes;
  REDRAFT_CHECK(::sigaltstack(&stack, nullptr) == 0, "the alternate signal stack is accepted");
  struct sigaction action {};
  action.sa_handler = onSignal;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) REDRAFT_CHECK(::sigaction(signal, &action, nullptr) == 0, "a handler is accepted");
}

}  // namespace redraft::scenarios
