#pragma once
// The simulated driver: N devices in host memory, with CUDA's affinity rules enforced. Work runs at once on the calling
// thread, so a program's results do not depend on the simulator; what streams, events and host threads order is checked
// by vector clocks.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/driver.h"
#include "devices/host_mark.h"
#include "devices/topology.h"

namespace redraft::devices {

struct SimOptions {
  Topology topology;
  std::size_t deviceBytes = std::size_t{64} << 30;  // allocate() beyond it: kOutOfMemory
  std::size_t logCapacity = 1u << 16;
  /// Happens-before check of what launches and copies touch: CallKind::kRace records. Costs about a microsecond a
  /// launch.
  bool raceCheck = true;
};

/// What a role allocated on a device since the start; roles beyond the 255th are counted as role 0.
struct RoleMemory {
  RoleId role = 0;
  int device = 0;
  std::int64_t bytes = 0;
  std::int64_t allocations = 0;
};

/// What the simulator offers beyond CUDA's interface. "Process" in the rules is one SimDriver: two of them share
/// nothing but the threads, each of which has a current context in each.
class SimDriver : public Driver {
 public:
  /// Counts memory that something else allocated (a CPU kernel's result, wrapped without a copy) as `device`'s, under
  /// the same limit as allocate(). The owner frees it after releaseMemory(). kInvalidValue: null, empty, or already
  /// known.
  virtual Status adoptMemory(const void* pointer, std::size_t bytes, int device) = 0;
  virtual Status releaseMemory(const void* pointer) = 0;

  /// Host memory that kernels may touch, as cuMemHostRegister makes it.
  virtual Status registerHost(const void* pointer, std::size_t bytes) = 0;
  virtual Status unregisterHost(const void* pointer) = 0;

  /// For the happens-before check. On the giver's thread, before it hands something on: adds what the thread knows to
  /// be done. On the taker's: the thread knows it too. The caller keeps two threads from one mark at a time.
  virtual void publish(HostMark& mark) = 0;
  virtual void observe(const HostMark& mark) = 0;

  /// For the same check: work that the caller does itself, on a stream of the current context, with what it touches.
  /// Nothing is refused: where there is no such stream, nothing is noted.
  virtual void noteWork(Stream stream, const char* name, std::span<const MemoryTouch> touches) = 0;

  /// Non-zero entries only, ordered by role and device.
  virtual std::vector<RoleMemory> roleMemory() const = 0;
  /// Whether every call now returns kIllegalAddress.
  virtual bool poisoned() const = 0;
};

std::unique_ptr<SimDriver> makeSimDriver(SimOptions options);

}  // namespace redraft::devices
