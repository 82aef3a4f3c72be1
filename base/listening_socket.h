#pragma once
// A TCP socket bound to a free port of this host's loopback, to be handed to the process that serves there: nobody else
// can take the port in between.

#include <cstdint>

namespace redraft {

class ListeningSocket {
 public:
  /// Throws Error(kEnvironment). Closed on exec, unless whoever starts the process says otherwise.
  ListeningSocket();
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int fd() const { return fd_; }
  std::uint16_t port() const { return port_; }
  /// The descriptor is somebody else's to close from here on.
  int release();

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace redraft
