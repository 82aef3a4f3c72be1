#include "base/listening_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace redraft {

ListeningSocket::ListeningSocket() {
  constexpr int kBacklog = 128;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || ::bind(fd_, generic, size) != 0 || ::listen(fd_, kBacklog) != 0 ||
      ::getsockname(fd_, generic, &size) != 0) {
    const int code = errno;
    if (fd_ >= 0) ::close(fd_);
    throw Error(ErrorKind::kEnvironment, "a port on 127.0.0.1", std::strerror(code),
                "look at `ss -tln` and `ulimit -n`");
  }
  port_ = ntohs(address.sin_port);
}

ListeningSocket::~ListeningSocket() {
  if (fd_ >= 0) ::close(fd_);
}

int ListeningSocket::release() { return std::exchange(fd_, -1); }

}  // namespace redraft
