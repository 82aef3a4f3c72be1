#pragma once
// The seams that the training stack offers to whoever runs it: sync points, marks, and the questions that a fault
// answers wrongly. The default does nothing and answers rightly. The training code asks and never knows who answers.
//
// Every call may come from any thread (role threads, autograd's threads); role, step and phase are in
// devices::currentOrigin(). An implementation may block in syncPoint() (a controlled schedule does) and may throw.

#include <cstdint>
#include <optional>

#include "devices/declarations.h"
#include "devices/host_mark.h"

namespace redraft::model {

enum class SyncPoint : std::uint8_t {
  kStepBegin,
  kStepEnd,
  kQueuePush,
  kQueuePop,
  kCompileBegin,
  kCompileEnd,
  kKernelLookup,
  kKernelLaunch,
  kCollectiveEnter,
  kCollectiveLeave,
  kRecomputeBegin,
  kRecomputeEnd,
  kOptimizerStep,
  kEvaluate,
};

const char* syncPointName(SyncPoint point);

class Instrument {
 public:
  virtual ~Instrument() = default;

  /// Progress mark and schedule point. `object`: sample id, micro-batch, layer or round, whichever the point is about.
  virtual void syncPoint(SyncPoint point, std::int64_t object) {}

  /// An order between threads that no driver call shows: the giver publishes into the mark that travels with what it
  /// hands on, the taker observes it. Called under the lock of the queue or barrier that the mark is in; does not
  /// block.
  virtual void publish(devices::HostMark& mark) {}
  virtual void observe(const devices::HostMark& mark) {}

  /// Where what a trace cannot show is declared (devices/declarations.h); null: nobody looks.
  virtual devices::Declarations* declarations() { return nullptr; }

  /// Whether the taker of a hand-off makes its stream wait for the giver's. Right: it does.
  virtual bool waitsForHandOff() const { return true; }
  /// What an attention call passes to the kernel cache as its device. Right: the device of its tensors.
  virtual std::optional<int> kernelCallSiteDevice(int tensorDevice) const { return tensorDevice; }
  /// Device on which the block mask for tensors on `tensorDevice` is built. Right: the same.
  virtual int blockMaskDevice(int tensorDevice) const { return tensorDevice; }
  /// Device that is current while the checkpointed loss is recomputed in backward. Right: the forward's.
  virtual int recomputeDevice(int forwardDevice) const { return forwardDevice; }
};

/// The process's instrument; never null. set(nullptr) restores the default. Not owned. Set before the workers start.
Instrument& instrument();
void setInstrument(Instrument* instrument);

}  // namespace redraft::model
