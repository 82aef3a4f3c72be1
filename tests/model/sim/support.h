#pragma once
// What the tests of `sim` share. The program registers the backend before its first test, over one driver of 8 devices
// with every copy edge but 3 -> 5.

#include <ATen/ATen.h>

#include <functional>
#include <string>

#include "model/sim/sim_backend.h"

namespace redraft::model::simtest {

/// `tensor` on sim:`index`.
at::Tensor on(int index, const at::Tensor& tensor);
at::TensorOptions simOptions(int index, at::ScalarType dtype = at::kFloat);

std::int64_t liveBytes(int device);
std::int64_t liveSegments(int device);

/// The message of the exception that `call` throws; fails the test when it throws none.
std::string messageOf(const std::function<void()>& call);
/// The status of the DeviceError that `call` throws; fails the test when it throws none, or another exception.
devices::Status statusOf(const std::function<void()>& call);

/// Equal dtype, sizes and bytes, NaN payloads included.
bool sameBits(const at::Tensor& a, const at::Tensor& b);

}  // namespace redraft::model::simtest
