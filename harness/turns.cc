#include "harness/turns.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.h"

namespace redraft::harness {
namespace {

constexpr std::chrono::milliseconds kCheckEvery{100};

/// The next message; nullopt: none within `timeout`. Whoever has nobody left at the other end may go on to the end.
std::optional<std::int64_t> received(int fd, std::chrono::milliseconds timeout) {
  pollfd ready{fd, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  std::int64_t steps = 0;
  const ssize_t got = ::recv(fd, &steps, sizeof steps, 0);
  if (got < 0 && errno == EINTR) return std::nullopt;
  return got == sizeof steps ? steps : std::numeric_limits<std::int64_t>::max();
}

void send(int fd, std::int64_t steps) {
  // Nobody there: the run, or the harness, is gone, and whoever watches for that says so.
  while (::send(fd, &steps, sizeof steps, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace

TurnGiver::TurnGiver() {
  int ends[2];
  // Whole messages, and an end of the conversation that is seen.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ErrorKind::kEnvironment, "socketpair", std::strerror(errno));
  fd_ = ends[0];
  runnerFd_ = ends[1];
}

TurnGiver::~TurnGiver() {
  ::close(fd_);
  ::close(runnerFd_);
}

void TurnGiver::allow(std::int64_t steps) {
  allowed_ = steps;
  send(fd_, steps);
}

bool TurnGiver::reached(std::chrono::milliseconds timeout) {
  const std::optional<std::int64_t> steps = received(fd_, timeout);
  return steps && *steps >= allowed_;
}

TurnGate::TurnGate(int fd) : fd_(fd) {
  int kind = 0;
  socklen_t size = sizeof kind;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_SEQPACKET)
    throwBadInput("--turns", std::to_string(fd) + " is no socket of the harness", "`redraft bench` passes it");
}

void TurnGate::enter(std::int64_t step, const std::function<void()>& check) {
  if (step < allowed_) return;
  const std::lock_guard lock(mutex_);
  while (step >= allowed_) {
    if (const std::optional<std::int64_t> allowed = received(fd_, kCheckEvery)) allowed_ = *allowed;
    check();
  }
}

void TurnGate::done(std::int64_t step) {
  if (step + 1 == allowed_) send(fd_, step + 1);
}

}  // namespace redraft::harness
