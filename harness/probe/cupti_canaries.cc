// CuptiCapture's canaries: with contexts of its own, because those of the run must not change, and peer access between
// primary contexts would stay on.
#include <unistd.h>

#include <array>
#include <thread>

#include "harness/probe/cupti_capture.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kBytes = 4096;

/// The driver calls of the canaries, up to the first that is refused.
class Planting {
 public:
  Planting(const CuptiApi& api, CanaryPlan& plan) : api_(api), plan_(plan) {}
  ~Planting() {
    for (CUcontext context : contexts_) {
      if (context != nullptr) static_cast<void>(api_.cuCtxDestroy(context));  // with all that is in it
    }
  }
  Planting(const Planting&) = delete;
  Planting& operator=(const Planting&) = delete;

  void run() {
    int devices = 0;
    if (!did(api_.cuInit(0), "cuInit") || !did(api_.cuDeviceGetCount(&devices), "cuDeviceGetCount") || !copyIn(0))
      return;
    plan_.planted = {"A1", "A3", "A6"};
    int reaches = 0;
    if (devices > 1 && !did(api_.cuDeviceCanAccessPeer(&reaches, 0, 1), "cuDeviceCanAccessPeer")) return;
    if (reaches == 0) {
      plan_.missing = devices > 1 ? "devices 0 and 1 cannot reach each other" : "there is one device";
      return;
    }
    if (copyIn(1) && copyAcross()) plan_.planted.emplace_back("peer_copy");
  }

 private:
  bool did(CUresult result, const char* call) {
    if (result != CUDA_SUCCESS) plan_.missing = std::string(call) + ": error " + std::to_string(result);
    return result == CUDA_SUCCESS;
  }

  /// A context (A6), and a copy into its memory on its null stream (A3), all on a device that is not the role's (A1).
  bool copyIn(int device) {
    const std::array<std::byte, kBytes> host{};
    const auto at = static_cast<std::size_t>(device);
    return did(api_.cuCtxCreate(&contexts_[at], nullptr, 0, device), "cuCtxCreate") &&
           did(api_.cuMemAlloc(&memory_[at], kBytes), "cuMemAlloc") &&
           did(api_.cuMemcpyHtoD(memory_[at], host.data(), kBytes), "cuMemcpyHtoD") &&
           did(api_.cuCtxSynchronize(), "cuCtxSynchronize");
  }

  bool copyAcross() {
    return did(api_.cuCtxEnablePeerAccess(contexts_[0], 0), "cuCtxEnablePeerAccess") &&
           did(api_.cuCtxSetCurrent(contexts_[0]), "cuCtxSetCurrent") &&
           did(api_.cuCtxEnablePeerAccess(contexts_[1], 0), "cuCtxEnablePeerAccess") &&
           did(api_.cuMemcpyPeer(memory_[1], contexts_[1], memory_[0], contexts_[0], kBytes), "cuMemcpyPeer") &&
           did(api_.cuCtxSynchronize(), "cuCtxSynchronize");
  }

  const CuptiApi& api_;
  CanaryPlan& plan_;
  std::array<CUcontext, 2> contexts_{};
  std::array<CUdeviceptr, 2> memory_{};
};

}  // namespace

CanaryPlan CuptiCapture::plantCanaries() {
  CanaryPlan plan;
  std::thread([&] {
    plan.thread = ::gettid();
    Planting planting(api_, plan);
    planting.run();
    // While the contexts live: their records are complete now.
    if (api_.cuptiActivityFlushAll(0) != CUPTI_SUCCESS) refusedCallbacks_.fetch_add(1, std::memory_order_relaxed);
  }).join();
  return plan;
}

}  // namespace redraft::harness
