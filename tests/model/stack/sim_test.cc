// The training stack on simulated devices: the same bits as on the CPU, and the recomputation on the device that it is
// told.
#include <c10/core/DeviceGuard.h>
#include <gtest/gtest.h>

#include <string>

#include "devices/kernel_cache.h"
#include "devices/sim/sim_driver.h"
#include "model/generate.h"
#include "model/instrument.h"
#include "model/sim/sim_backend.h"
#include "model/train_step.h"
#include "tests/model/stack/tiny_models.h"

namespace redraft::model {
namespace {

devices::SimDriver& testDriver() {
  static devices::SimDriver* const driver = [] {
    auto* made = devices::makeSimDriver({}).release();  // outlives every tensor
    registerSim(*made);
    return made;
  }();
  return *driver;
}

class StackOnSimTest : public ::testing::Test {
 protected:
  StackOnSimTest() : cache_(testDriver(), compileAttention), device_(simDevice(3)), current_(device_) {
    setKernelCache(&cache_);
  }
  ~StackOnSimTest() override {
    setInstrument(nullptr);
    setKernelCache(nullptr);
  }

  std::vector<at::Tensor> moved(std::vector<at::Tensor> tensors) const {
    for (at::Tensor& tensor : tensors) tensor = tensor.to(device_);
    return tensors;
  }
  Target target() const {
    return {tiny::targetConfig(), moved(randomParameters(targetParameters(tiny::targetConfig()), 1, 0.15))};
  }
  Drafter drafter() const {
    return {tiny::drafterConfig(), moved(randomParameters(drafterParameters(tiny::drafterConfig()), 2, 0.15))};
  }
  tiny::Batch cpuBatch() const { return tiny::batch(tiny::target(1), tiny::drafterConfig(), 2, 26, 6, 3); }

  devices::KernelCache cache_;
  at::Device device_;
  c10::DeviceGuard current_;
};

TEST_F(StackOnSimTest, StepHasTheBitsOfTheCpu) {
  const tiny::Batch batch = cpuBatch();
  for (const LossType type : {LossType::kDflash, LossType::kDpace}) {
    const ObjectiveOptions options = {type, 2};
    const MicroBatchResult cpu =
        trainMicroBatch(tiny::drafter(2), tiny::target(1).head(), batch.feature, batch.plan, options);
    const at::Tensor feature = target().contextFeature(batch.ids.to(device_), tiny::drafterConfig().targetLayerIds);
    EXPECT_TRUE(at::equal(feature.cpu(), batch.feature));
    const MicroBatchResult sim = trainMicroBatch(drafter(), target().head(), feature, batch.plan.to(device_), options);
    EXPECT_EQ(sim.sums.numerator, cpu.sums.numerator);
    EXPECT_EQ(sim.sums.acceptedSlots, cpu.sums.acceptedSlots);
    for (std::size_t i = 0; i < cpu.gradients.size(); ++i) {
      EXPECT_EQ(sim.gradients[i].device(), device_);
      EXPECT_TRUE(at::equal(sim.gradients[i].cpu(), cpu.gradients[i])) << i;
    }
  }
}

TEST_F(StackOnSimTest, GenerationHasTheTextOfTheCpu) {
  GenerateOptions options;
  options.maxNewTokens = 10;
  const Generation cpu = generateSpeculative(tiny::target(1), tiny::drafter(2), {3, 1, 4}, options);
  const Generation sim = generateSpeculative(target(), drafter(), {3, 1, 4}, options);
  EXPECT_EQ(sim.tokens, cpu.tokens);
  EXPECT_EQ(sim.acceptLengths, cpu.acceptLengths);
}

struct RecomputeElsewhere : Instrument {
  int forwardDevice = -1;
  int recomputeDevice(int device) const override {
    const_cast<RecomputeElsewhere*>(this)->forwardDevice = device;
    return device - 1;
  }
};

TEST_F(StackOnSimTest, RecomputationOnAnotherDeviceIsRefusedAsByCuda) {
  RecomputeElsewhere wrong;
  setInstrument(&wrong);
  const tiny::Batch batch = cpuBatch();
  const BlockPlan plan = batch.plan.to(device_);
  const at::Tensor feature = batch.feature.to(device_);
  try {
    trainMicroBatch(drafter(), target().head(), feature, plan, {LossType::kDflash, 2});
    FAIL() << "recomputed on sim:2 what ran on sim:3, and nothing noticed";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("Expected all tensors to be on the same device"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(wrong.forwardDevice, 3);
  EXPECT_NO_THROW(trainMicroBatch(drafter(), target().head(), feature, plan, {LossType::kDflash, 0}))
      << "nothing is recomputed without chunks";
}

}  // namespace
}  // namespace redraft::model
