#pragma once
// How a compiled kernel is started on a device, as CUDA does it: the function from the kernel cache, then a launch.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <string>

#include "devices/driver.h"

namespace redraft::model {

/// A kernel's parameters in its order, and what they point at. Tensors and values must outlive the launch; freeing a
/// tensor afterwards is for the caching allocator, which keeps to the stream.
class KernelCall {
 public:
  KernelCall() = default;
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  void read(const char* name, const at::Tensor& tensor) {
    add(name, const_cast<void*>(tensor.const_data_ptr()), tensor, false);
  }
  void write(const char* name, const at::Tensor& tensor) { add(name, tensor.mutable_data_ptr(), tensor, true); }
  void value(void* value) { arguments_.params.push_back(value); }

  void** params() { return arguments_.params.data(); }

  /// `entry` of `artefact`, on the current stream of the device of `on`, which is made current for the call. A launch
  /// with an empty grid is none. A refusal is a DeviceError that names the artefact and `on`, an argument called
  /// `onName`; Error(kBadInput) when the process has no kernel cache, or one for other devices.
  void launch(const at::Tensor& on, const char* onName, const std::string& artefact, const char* entry,
              const devices::LaunchShape& shape);

 private:
  void add(const char* name, void* pointer, const at::Tensor& tensor, bool written);

  std::array<void*, 16> pointers_{};
  std::size_t count_ = 0;
  devices::LaunchArguments arguments_;
};

/// LibTorch's current stream of `device`. A refusal is a DeviceError that names `artefact`, here and below.
devices::Stream currentStream(devices::Driver& driver, at::Device device, const std::string& artefact);

/// Of the thread, on which `device` is current already. To the CUDA runtime device 0 is current on a thread that has no
/// context yet (autograd's are such), so that c10's guard binds none: this does, as the runtime's first call would.
devices::Context currentContext(devices::Driver& driver, at::Device device, const std::string& artefact);

/// Whether kernels on `device` are the GPU's programs (model/kernels/cuda), and not the CPU's run by the simulator.
bool runsGpuPrograms(at::Device device);

}  // namespace redraft::model
