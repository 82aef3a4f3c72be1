#pragma once
// What only the program knows of its devices' work, declared where it happens so that a trace can be held to it
// (docs/audit.md, A8). One implementation writes into a driver's log, which a simulated run's trace is made of; the
// other is the capture of CUDA devices (harness/probe).

#include <atomic>
#include <cstdint>

#include "devices/driver.h"

namespace redraft::devices {

struct StreamPlace {
  int device = -1;
  void* native = nullptr;  // as Driver::adoptStream() takes it; null: the device's default stream
};

/// Every thread may call; a call takes about a microsecond and does not wait for a device.
class Declarations {
 public:
  virtual ~Declarations() = default;

  /// A hand-off of memory between roles, on the giver's thread: what is on `stream` by now has made it. Returns the
  /// hand-off's number in this process, from 1.
  virtual std::uint32_t given(const StreamPlace& stream, std::int64_t bytes) = 0;
  /// On the taker's thread, before its stream is made to wait: what this thread puts on `stream` from now on uses the
  /// memory. Several may take one hand-off, and one may take it on several streams.
  virtual void taken(std::uint32_t handOff, const StreamPlace& stream, std::int64_t bytes) = 0;
};

/// Declares in the log of a driver (CallKind::kHandOff). Streams without a handle are those of primary contexts.
class LogDeclarations final : public Declarations {
 public:
  explicit LogDeclarations(Driver& driver) : driver_(driver) {}

  std::uint32_t given(const StreamPlace& stream, std::int64_t bytes) override;
  void taken(std::uint32_t handOff, const StreamPlace& stream, std::int64_t bytes) override;

 private:
  void add(const char* end, std::uint32_t handOff, const StreamPlace& stream, std::int64_t bytes);

  Driver& driver_;
  std::atomic<std::uint32_t> handOffs_{0};
};

}  // namespace redraft::devices
