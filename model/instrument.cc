#include "model/instrument.h"

#include <atomic>

#include "base/error.h"

namespace redraft::model {

namespace {

Instrument& defaultInstrument() {
  static Instrument instance;
  return instance;
}

std::atomic<Instrument*> current{nullptr};

}  // namespace

const char* syncPointName(SyncPoint point) {
  switch (point) {
    case SyncPoint::kStepBegin:
      return "step_begin";
    case SyncPoint::kStepEnd:
      return "step_end";
    case SyncPoint::kQueuePush:
      return "queue_push";
    case SyncPoint::kQueuePop:
      return "queue_pop";
    case SyncPoint::kCompileBegin:
      return "compile_begin";
    case SyncPoint::kCompileEnd:
      return "compile_end";
    case SyncPoint::kKernelLookup:
      return "kernel_lookup";
    case SyncPoint::kKernelLaunch:
      return "kernel_launch";
    case SyncPoint::kCollectiveEnter:
      return "collective_enter";
    case SyncPoint::kCollectiveLeave:
      return "collective_leave";
    case SyncPoint::kRecomputeBegin:
      return "recompute_begin";
    case SyncPoint::kRecomputeEnd:
      return "recompute_end";
    case SyncPoint::kOptimizerStep:
      return "optimizer_step";
    case SyncPoint::kEvaluate:
      return "evaluate";
  }
  REDRAFT_CHECK(false, "unknown sync point");
}

Instrument& instrument() {
  Instrument* set = current.load(std::memory_order_acquire);
  return set != nullptr ? *set : defaultInstrument();
}

void setInstrument(Instrument* instrument) { current.store(instrument, std::memory_order_release); }

}  // namespace redraft::model
