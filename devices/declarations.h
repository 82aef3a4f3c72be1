#pragma once
// What only the program knows of its devices' work, declared where it happens so that a trace can be held to it
// (docs/audit.md, A2, A8 and A10). One implementation writes into a driver's log, which a simulated run's trace is made
// of; the other is the capture of CUDA devices (harness/probe).

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "devices/driver.h"

namespace redraft::devices {

struct StreamPlace {
  int device = -1;
  void* native = nullptr;  // as Driver::adoptStream() takes it; null: the device's default stream
};

/// A group of ranks, one of them this process's, as a communicator of NCCL is.
struct Communicator {
  std::string name;  // the same on all ranks
  int rank = 0, device = -1;
  std::vector<std::string> gpus;  // of each rank: two are equal exactly when they are one GPU
};

/// A collective that was issued.
struct CollectiveCall {
  std::string communicator, what;  // "drafters", "the gradients"
  std::int64_t bytes = 0;
  std::int64_t beganNs = 0;  // std::chrono::steady_clock: the calling thread issued it since then
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

  /// On a role's thread: the stream is the role's own, and no other's.
  virtual void owns(const StreamPlace& stream) = 0;

  /// This process has joined a communicator.
  virtual void joined(const Communicator& communicator) = 0;
  /// On the thread that issued it, at once.
  virtual void issued(const CollectiveCall& call) = 0;
};

/// Declares in the log of a driver (CallKind::kHandOff, kOwnStream). Streams without a handle are those of primary
/// contexts. Communicators are none of a driver's: between simulated devices there are none.
class LogDeclarations final : public Declarations {
 public:
  explicit LogDeclarations(Driver& driver) : driver_(driver) {}

  std::uint32_t given(const StreamPlace& stream, std::int64_t bytes) override;
  void taken(std::uint32_t handOff, const StreamPlace& stream, std::int64_t bytes) override;
  void owns(const StreamPlace& stream) override;
  void joined(const Communicator& communicator) override {}
  void issued(const CollectiveCall& call) override {}

 private:
  void add(LogRecord record, const StreamPlace& stream);

  Driver& driver_;
  std::atomic<std::uint32_t> handOffs_{0};
};

}  // namespace redraft::devices
