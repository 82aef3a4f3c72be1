#include "scenarios/runner/crash_handler.h"

#include <execinfo.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace redraft::scenarios {

namespace {

constexpr int kFatalSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr std::size_t kStackBytes = 256 * 1024;
constexpr int kMaxFrames = 64;

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

void say(std::uint64_t number) {
  char digits[20];
  std::size_t first = sizeof digits;
  do digits[--first] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  say(std::string_view(digits + first, sizeof digits - first));
}

/// The calling thread's name, number and stack. Only calls that are safe in a signal handler: prctl, gettid, write,
/// backtrace (its library was loaded at installation).
void sayStack(std::string_view before, std::string_view after) {
  char thread[16] = "";
  ::prctl(PR_GET_NAME, thread);
  say(before);
  say(thread);
  say(" (");
  say(static_cast<std::uint64_t>(::syscall(SYS_gettid)));
  say(")");
  say(after);
  void* frames[kMaxFrames];
  const int count = ::backtrace(frames, kMaxFrames);
  ::backtrace_symbols_fd(frames, count, STDERR_FILENO);
}

void onFatalSignal(int signal) {
  say("redraft: error: ended by ");
  say(nameOf(signal));
  sayStack(" in thread ", "; stack, innermost first:\n");
  ::raise(signal);  // SA_RESETHAND has put the default action back
}

void onStackRequest(int) {
  static std::atomic_flag writing = ATOMIC_FLAG_INIT;  // threads take turns
  const int saved = errno;
  while (writing.test_and_set(std::memory_order_acquire)) ::sched_yield();
  sayStack("redraft: info: stack of thread ", ", innermost first:\n");
  writing.clear(std::memory_order_release);
  errno = saved;
}

void handle(int signal, void (*handler)(int), unsigned flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_ONSTACK | flags);
  sigemptyset(&action.sa_mask);
  REDRAFT_CHECK(::sigaction(signal, &action, nullptr) == 0, "a handler is accepted");
}

/// The calling thread's, while it lives. What was there before (a sanitizer's) is put back.
class AlternateStack {
 public:
  AlternateStack() : memory_(std::make_unique<std::byte[]>(kStackBytes)) {
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = kStackBytes;
    REDRAFT_CHECK(::sigaltstack(&stack, &before_) == 0, "the alternate signal stack is accepted");
  }
  ~AlternateStack() { ::sigaltstack(&before_, nullptr); }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
  stack_t before_{};
};

}  // namespace

void useAlternateStack() { thread_local const AlternateStack stack; }

void installCrashHandler() {
  void* frame = nullptr;
  ::backtrace(&frame, 1);
  useAlternateStack();
  for (const int signal : kFatalSignals) handle(signal, onFatalSignal, SA_RESETHAND | SA_NODEFER);
  handle(SIGUSR1, onStackRequest, SA_RESTART);
}

}  // namespace redraft::scenarios
