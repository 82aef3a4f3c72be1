#pragma once
// Copies that touch a sim device. Between a device and the host, or two devices, bytes go through Driver::copy, so that
// the driver's log and the topology's edges see them, in CUDA's order: on the source device's current stream, with
// events between the two devices' streams. dtype conversion and gathering of strided tensors run on the source device
// first, scattering on the destination device afterwards. Copies within one device are kernels, as on CUDA.

#include <ATen/core/Tensor.h>

namespace redraft::model::sim {

/// aten::_copy_from: copies `source`, expanded, into `destination`, and returns that. Throws DeviceError when the
/// driver refuses.
at::Tensor copyFrom(const at::Tensor& source, const at::Tensor& destination, bool nonBlocking);
at::Tensor copyFromAndResize(const at::Tensor& source, const at::Tensor& destination);
/// aten::_local_scalar_dense (item()): a copy to the host and a synchronisation, as on CUDA.
at::Scalar localScalar(const at::Tensor& tensor);

}  // namespace redraft::model::sim
