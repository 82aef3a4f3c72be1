#pragma once
// A child that cannot outlive its parent: started by fork and exec, in a process group of its own, with its output on a
// pipe.

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redraft::harness {

/// How a process ended.
struct ChildEnd {
  bool signalled = false;
  int code = 0;  // exit status, or the signal's number
  bool clean() const { return !signalled && code == 0; }
  std::string text() const;  // "exited 0", "signal 11 (SIGSEGV)"
};

std::string signalName(int signal);  // "SIGSEGV"

struct ChildCommand {
  std::vector<std::string> arguments;              // the first is the program's path
  std::map<std::string, std::string> environment;  // set over the parent's
  bool foreground = false;                         // a debugger's: the parent's terminal, output and process group
  int keepFd = -1;                                 // a descriptor that the child takes over, under the same number
};

/// Not thread-safe. The thread that starts a child has to stay until it has ended: the kernel ends the child with the
/// thread (PR_SET_PDEATHSIG).
class ChildProcess {
 public:
  /// Throws Error(kEnvironment) when the program cannot be started.
  explicit ChildProcess(const ChildCommand& command);
  /// Kills what is still there, the whole group, and reaps it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// Waits until the child says something, ends, `wakeFd` is readable, or the time is over. New output is appended.
  void wait(std::chrono::milliseconds timeout, int wakeFd, std::string& output);
  /// Waits until one of several that have not ended says something or ends, `wakeFd` is readable, or the time is over.
  static void waitAny(const std::vector<std::unique_ptr<ChildProcess>>& children, std::chrono::milliseconds timeout,
                      int wakeFd);
  /// How it ended; nullopt while it runs. Afterwards the rest of its group is gone.
  std::optional<ChildEnd> ended();
  /// Output that is in the pipe now; appended.
  void drain(std::string& output);
  /// To the whole group.
  void signal(int signal) const;

 private:
  [[noreturn]] static void becomeChild(const std::vector<char*>& argv, const std::vector<char*>& environment,
                                       pid_t parent, int outputFd, int errorFd, const ChildCommand& command);
  void start(const ChildCommand& command, int outputFd);

  void addTo(std::vector<pollfd>& fds) const;

  pid_t pid_ = -1;
  bool foreground_ = false;
  int outputFd_ = -1;
  bool talks_ = true;  // its output is still open
  int pidFd_ = -1;     // -1 where the kernel has none
  std::optional<ChildEnd> end_;
};

}  // namespace redraft::harness
