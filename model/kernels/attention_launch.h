#pragma once
// How an attention kernel is started: on the CPU by a call, on a device as CUDA does it (cache, function, launch).

#include <ATen/core/Tensor.h>

#include <array>

#include "devices/driver.h"
#include "model/kernels/attention_artefact.h"

namespace redraft::model {

/// The kernel's parameters, in the order of simd::ForwardParam or simd::BackwardParam, and what they point at. The
/// tensors and the shape must outlive the launch.
class AttentionCall {
 public:
  void read(const char* name, const at::Tensor& tensor) {
    add(name, const_cast<void*>(tensor.const_data_ptr()), tensor, false);
  }
  void write(const char* name, const at::Tensor& tensor) { add(name, tensor.mutable_data_ptr(), tensor, true); }
  void readMask(const BlockMask& mask);
  void shape(AttentionShape& shape) { arguments_.params.push_back(&shape); }

  /// On the current stream of `device`, which is made current for the call. A refusal is a DeviceError that names the
  /// artefact and the query tensor. On the CPU nothing is looked up.
  void launch(const AttentionArtefact& artefact, const at::Tensor& q, const AttentionShape& shape);

 private:
  void add(const char* name, void* pointer, const at::Tensor& tensor, bool written);

  std::array<void*, simd::kBwdCount> pointers_{};
  std::size_t count_ = 0;
  devices::LaunchArguments arguments_;
};

}  // namespace redraft::model
