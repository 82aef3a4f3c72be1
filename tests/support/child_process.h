#pragma once
// A forked child for tests that kill it. The child runs `body` with the writing end of a pipe and then exits with 0; it
// must not return into the test.

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace redraft::testing_support {

class ChildProcess {
 public:
  template <typename Body>
  explicit ChildProcess(const Body& body) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) {
      ::close(ends[0]);
      try {
        body(ends[1]);
      } catch (const std::exception&) {
        ::_exit(99);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
  }
  ~ChildProcess() {
    if (pid_ > 0) kill();
    ::close(pipe_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// Waits for one byte from the child; false at the end of the pipe.
  bool waitForByte() const {
    char byte;
    ssize_t count;
    do {
      count = ::read(pipe_, &byte, 1);
    } while (count < 0 && errno == EINTR);
    return count == 1;
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }

  /// Its wait status.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

/// For the child: tells the parent that it came this far.
inline void sendByte(int pipe) {
  if (::write(pipe, "x", 1) != 1) ::_exit(98);
}

}  // namespace redraft::testing_support
