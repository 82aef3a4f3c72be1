#pragma once
// One launch of compiled attention in a given context: fixed inputs there, and the output compared with the CPU's.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "devices/kernel_cache.h"
#include "model/kernels/attention.h"

namespace redraft::scenarios {

/// Inputs and expected output of one case, on the host: bfloat16, head dim 16, a draft mask.
struct ProbeCase {
  explicit ProbeCase(std::uint64_t seed);

  at::Tensor q, k, v;
  model::BlockMask mask;
  double scale = 0.25;
  at::Tensor expected;  // by the CPU's kernel
};

/// The case in one context's memory. Made, used and destroyed with that context current; any thread.
class AttentionProbe {
 public:
  /// `context`: of `device`, current. Throws DeviceError.
  AttentionProbe(devices::Driver& driver, devices::Context context, int device, const ProbeCase& probe);
  ~AttentionProbe();
  AttentionProbe(const AttentionProbe&) = delete;
  AttentionProbe& operator=(const AttentionProbe&) = delete;

  /// Asks the cache, as a call site does, launches on a stream of the context, and returns the output on the host.
  /// Throws DeviceError for what the driver refuses.
  at::Tensor launch(devices::KernelCache& cache);

  devices::Context context() const { return context_; }

 private:
  void* upload(const char* name, const at::Tensor& tensor, bool written = false);

  devices::Driver& driver_;
  const devices::Context context_;
  const int device_;
  const ProbeCase& case_;
  devices::Stream stream_;
  std::vector<void*> memory_;  // in the order of the kernel's parameters
  std::vector<devices::MemoryTouch> touches_;
  at::Tensor out_;
};

}  // namespace redraft::scenarios
