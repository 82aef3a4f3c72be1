#pragma once
// CUPTI's callbacks for buffers say nothing of who asked for them: the capture that they are for.

#include <atomic>

namespace redraft::harness {

class CuptiCapture;

/// The newest capture of this process; it stays when it has stopped, so that buffers that come late find their pool.
inline std::atomic<CuptiCapture*>& activeCapture() {
  static std::atomic<CuptiCapture*> active{nullptr};
  return active;
}

}  // namespace redraft::harness
