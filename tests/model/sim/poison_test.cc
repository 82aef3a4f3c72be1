// After an illegal address, as on CUDA, no device of the process works any more, and unwinding still does. The test
// programs' driver cannot be healed, so this is a program of its own with one test.
#include <gtest/gtest.h>

#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

/// Launches, on `device`, a kernel that reads `memory`.
void readOn(int device, const at::Tensor& memory) {
  devices::SimDriver& driver = simDriver();
  devices::Context context;
  devices::check(driver.primaryContext(device, &context), "primaryContext", device);
  devices::check(driver.setCurrent(context), "setCurrent", device);
  devices::Module module;
  const devices::Image image{.name = "reader", .cubin = {}, .hostKernels = {{"read", [](void**) {}}}};
  devices::check(driver.loadModule(image, &module), "loadModule", device);
  devices::Function function;
  devices::check(driver.moduleFunction(module, "read", &function), "moduleFunction", device);
  devices::LaunchArguments arguments;
  arguments.touches.push_back({"memory", memory.const_data_ptr(), memory.nbytes(), false});
  devices::check(driver.launch(function, {}, {}, arguments), "launch", device);
}

TEST(SimPoisonTest, EveryOpOnEveryDeviceFailsAfterAnIllegalAddress) {
  const at::Tensor six = at::ones({4}, simOptions(6)), seven = at::ones({4}, simOptions(7));
  readOn(7, six);
  EXPECT_EQ(statusOf([&] { seven.sum().item<float>(); }), devices::Status::kIllegalAddress);
  EXPECT_EQ(statusOf([&] { six.add(1); }), devices::Status::kIllegalAddress);
  EXPECT_EQ(statusOf([&] { at::ones({4}, simOptions(0)); }), devices::Status::kIllegalAddress);
  EXPECT_EQ(at::ones({4}).sum().item<float>(), 4);  // the CPU goes on
}

}  // namespace
}  // namespace redraft::model::simtest
