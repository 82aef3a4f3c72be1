#include "harness/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace redraft::harness {
namespace {

std::atomic<int> received{0};
int wakePipe[2] = {-1, -1};

void onSignal(int signal) {
  const int saved = errno;
  if (received.exchange(signal) != 0) ::_exit(130);
  const char byte = 0;
  [[maybe_unused]] const ssize_t put = ::write(wakePipe[1], &byte, 1);
  errno = saved;
}

}  // namespace

void installInterruptHandlers() {
  if (::pipe2(wakePipe, O_CLOEXEC | O_NONBLOCK) != 0)
    throw Error(ErrorKind::kEnvironment, "pipe", std::strerror(errno));
  struct sigaction action {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

int interrupted() { return received.load(); }

int interruptFd() { return wakePipe[0]; }

}  // namespace redraft::harness
