#include "harness/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

extern char** environ;

namespace redraft::harness {
namespace {

constexpr int kExecFailed = 127;

[[noreturn]] void failed(const std::string& what, int code) {
  throw Error(ErrorKind::kEnvironment, what, std::strerror(code));
}

void makePipe(int (&ends)[2]) {
  if (::pipe2(ends, O_CLOEXEC) != 0) failed("pipe", errno);
}

std::vector<std::string> mergedEnvironment(const std::map<std::string, std::string>& over) {
  std::vector<std::string> merged;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry = *each;
    if (!over.contains(entry.substr(0, entry.find('=')))) merged.push_back(entry);
  }
  for (const auto& [name, value] : over) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// False at the end of the output.
bool readAvailable(int fd, std::string& output) {
  std::array<char, 1 << 16> buffer;
  // Bounded, so that a child that never stops talking does not keep its supervisor from looking at it.
  for (int round = 0; round < 16; ++round) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return got < 0;
    output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

std::string signalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "SIG" + std::to_string(signal);
}

std::string ChildEnd::text() const {
  if (!signalled) return "exited " + std::to_string(code);
  return "signal " + std::to_string(code) + " (" + signalName(code) + ")";
}

ChildProcess::ChildProcess(const ChildCommand& command) : foreground_(command.foreground) {
  int output[2];
  makePipe(output);
  outputFd_ = output[0];
  ::fcntl(outputFd_, F_SETFL, O_NONBLOCK);
  try {
    start(command, output[1]);
  } catch (...) {
    ::close(output[1]);
    ::close(outputFd_);
    throw;
  }
  ::close(output[1]);
  pidFd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
}

void ChildProcess::start(const ChildCommand& command, int outputFd) {
  // Everything that allocates happens before fork: the parent has threads.
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = mergedEnvironment(command.environment);
  const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  int error[2];
  makePipe(error);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) becomeChild(argv, envp, parent, outputFd, error[1], command);
  const int forkError = errno;
  ::close(error[1]);
  int execError = 0;
  ssize_t got = 0;
  if (pid_ > 0) {
    do got = ::read(error[0], &execError, sizeof execError);
    while (got < 0 && errno == EINTR);
  }
  ::close(error[0]);
  if (pid_ < 0) failed("fork", forkError);
  if (got <= 0) return;  // closed by exec
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  failed(command.arguments.front() + ": could not be started", execError);
}

void ChildProcess::becomeChild(const std::vector<char*>& argv, const std::vector<char*>& environment, pid_t parent,
                               int outputFd, int errorFd, const ChildCommand& command) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExecFailed);  // it was gone before the line above
  if (command.keepFd >= 0) ::fcntl(command.keepFd, F_SETFD, 0);
  if (!command.foreground) {
    ::setpgid(0, 0);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    ::dup2(outputFd, STDOUT_FILENO);
    ::dup2(outputFd, STDERR_FILENO);
  }
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(each, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(argv.front(), argv.data(), environment.data());
  const int code = errno;
  if (::write(errorFd, &code, sizeof code) != sizeof code) ::_exit(kExecFailed + 1);
  ::_exit(kExecFailed);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !end_) {
    signal(SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (pidFd_ >= 0) ::close(pidFd_);
  ::close(outputFd_);
}

void ChildProcess::wait(std::chrono::milliseconds timeout, int wakeFd, std::string& output) {
  std::vector<pollfd> fds = {{wakeFd, POLLIN, 0}};
  addTo(fds);
  ::poll(fds.data(), fds.size(), static_cast<int>(timeout.count()));
  drain(output);
}

void ChildProcess::waitAny(const std::vector<std::unique_ptr<ChildProcess>>& children,
                           std::chrono::milliseconds timeout, int wakeFd) {
  std::vector<pollfd> fds = {{wakeFd, POLLIN, 0}};
  for (const std::unique_ptr<ChildProcess>& child : children) child->addTo(fds);
  ::poll(fds.data(), fds.size(), static_cast<int>(timeout.count()));
}

void ChildProcess::addTo(std::vector<pollfd>& fds) const {
  if (end_) return;  // its descriptors are ready for ever
  fds.push_back({talks_ ? outputFd_ : -1, POLLIN, 0});
  fds.push_back({pidFd_, POLLIN, 0});
}

std::optional<ChildEnd> ChildProcess::ended() {
  if (end_) return end_;
  int status = 0;
  const pid_t got = ::waitpid(pid_, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return std::nullopt;
  end_ = WIFSIGNALED(status) ? ChildEnd{true, WTERMSIG(status)} : ChildEnd{false, WEXITSTATUS(status)};
  if (!foreground_) ::kill(-pid_, SIGKILL);  // what it left behind in its group
  return end_;
}

void ChildProcess::drain(std::string& output) {
  if (talks_) talks_ = readAvailable(outputFd_, output);
}

void ChildProcess::signal(int signal) const {
  if (pid_ <= 0 || end_) return;
  if (foreground_ || ::kill(-pid_, signal) != 0) ::kill(pid_, signal);
}

}  // namespace redraft::harness
