#pragma once
// Runs `redraft` as a user would, with its output in files.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "tests/paths.h"

extern char** environ;

namespace redraft::scenarios {

inline const std::string kRedraft = std::string(kBinaryFolder) + "/bin/redraft";
inline const std::string kFakeRunner = std::string(kBinaryFolder) + "/tests/fake_runner";

class Program {
 public:
  /// Output goes to FOLDER/out and FOLDER/err. `input` is a file that it reads from; "": nothing.
  Program(const std::string& folder, std::vector<std::string> arguments, const std::string& input = "")
      : folder_(folder) {
    arguments.insert(arguments.begin(), kRedraft);
    std::vector<char*> argv;
    for (std::string& each : arguments) argv.push_back(each.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.empty() ? "/dev/null" : input.c_str(), O_RDONLY,
                                       0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (folder + "/out").c_str(), kFlags, 0644);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (folder + "/err").c_str(), kFlags, 0644);
    const int failed = ::posix_spawn(&pid_, kRedraft.c_str(), &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    REDRAFT_CHECK(failed == 0, kRedraft + " could not be started");
    pidFd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  }
  ~Program() {
    if (!ended_) ::kill(pid_, SIGKILL), wait();
    if (pidFd_ >= 0) ::close(pidFd_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  /// True when it ends within the time.
  bool endsWithin(std::chrono::milliseconds time) const {
    pollfd fd{pidFd_, POLLIN, 0};
    return ::poll(&fd, 1, static_cast<int>(time.count())) > 0;
  }
  /// The exit code, or 128 + signal.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  std::string out() const { return readFile(folder_ + "/out"); }
  std::string err() const { return readFile(folder_ + "/err"); }

 private:
  std::string folder_;
  pid_t pid_ = -1;
  int pidFd_ = -1;
  bool ended_ = false;
};

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline Outcome runRedraft(const std::string& folder, const std::vector<std::string>& arguments,
                          const std::string& input = "") {
  Program program(folder, arguments, input);
  const int code = program.wait();
  return {code, program.out(), program.err()};
}

}  // namespace redraft::scenarios
