#include "tests/model/sim/support.h"

#include <gtest/gtest.h>

#include <cstring>

namespace redraft::model::simtest {
namespace {

class SimEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    devices::SimOptions options;
    options.topology.deviceCount = 8;
    for (int from = 0; from < 8; ++from)
      for (int to = 0; to < 8; ++to)
        if (from != to && !(from == 3 && to == 5)) options.topology.copyEdges.emplace_back(from, to);
    static auto* const driver = devices::makeSimDriver(options).release();  // outlives every tensor
    registerSim(*driver);
  }
};

[[maybe_unused]] const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new SimEnvironment);

devices::MemoryInfo memoryOf(int device) {
  devices::MemoryInfo info;
  devices::check(simDriver().memoryInfo(device, &info), "memoryInfo", device);
  return info;
}

/// On the host, dense. Autograd's gradients of zero have no memory until they are cloned.
at::Tensor hostBytes(const at::Tensor& tensor) {
  return (tensor._is_zerotensor() ? tensor.clone() : tensor).cpu().contiguous();
}

}  // namespace

at::Tensor on(int index, const at::Tensor& tensor) { return tensor.to(simDevice(index)); }

at::TensorOptions simOptions(int index, at::ScalarType dtype) {
  return at::TensorOptions().device(simDevice(index)).dtype(dtype);
}

std::int64_t liveBytes(int device) { return memoryOf(device).live; }
std::int64_t liveSegments(int device) { return memoryOf(device).segments; }

std::string messageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

devices::Status statusOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const devices::DeviceError& error) {
    return error.status();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not a DeviceError: " << error.what();
    return devices::Status::kSuccess;
  }
  ADD_FAILURE() << "nothing was thrown";
  return devices::Status::kSuccess;
}

bool sameBits(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor left = hostBytes(a), right = hostBytes(b);
  return left.nbytes() == 0 || std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

}  // namespace redraft::model::simtest
