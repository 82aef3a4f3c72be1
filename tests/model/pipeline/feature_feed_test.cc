#include "model/pipeline/feature_feed.h"

#include <ATen/ops/ones.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/sim/sim_backend.h"
#include "tests/model/pipeline/tiny_training.h"

namespace redraft::model {
namespace {

using devices::CallKind;
using devices::LogRecord;

/// A plan that is on the device already: no copy from the host orders the drafter's stream behind the copies'.
BlockPlan planOn(at::Device device) {
  BlockPlan plan;
  for (at::Tensor* tensor : {&plan.anchors.positions, &plan.anchors.keep, &plan.blockIds, &plan.positions, &plan.labels,
                             &plan.valid, &plan.weights}) {
    *tensor = at::ones({1}, device);
  }
  return plan;
}

class FeatureFeedTest : public testing::TestWithParam<bool> {};

TEST_P(FeatureFeedTest, TheDraftersStreamWaitsForTheCopyOfTheHiddenStates) {
  const bool ahead = GetParam();
  const at::Device from = tinyDevice(0), to = tinyDevice(4);
  RunMonitor monitor(std::chrono::seconds(30));
  OrderedQueue<Feature> queue(monitor, 1);
  const c10::StreamGuard drafter(poolStream(to));
  Feature feature;
  feature.plan = planOn(to);
  {
    const c10::StreamGuard target(poolStream(from));
    feature.contextFeature = HandOff({at::ones({8}, from)});
  }
  queue.push(0, std::move(feature), "target[0]");

  FeatureFeed feed(queue, "drafter[0]", to);
  if (ahead) feed.ahead({});
  RoleSample sample;
  const ArrivedFeature arrived = feed.take({}, sample);

  const std::vector<LogRecord> log = simDriver().log().records();
  const auto copy = std::find_if(log.rbegin(), log.rend(), [](const LogRecord& record) {
    return record.kind == CallKind::kCopy && record.fromDevice != record.toDevice;
  });
  ASSERT_NE(copy, log.rend());
  devices::Stream own;
  ASSERT_EQ(simDriver().adoptStream(placeOf(drafter.current_stream()).native, &own), devices::Status::kSuccess);
  EXPECT_NE(copy->stream, own.id);
  EXPECT_TRUE(std::any_of(log.rbegin(), copy, [&](const LogRecord& record) {
    return record.kind == CallKind::kEventWait && record.stream == own.id;
  })) << "nothing makes the drafter's stream wait";
  EXPECT_EQ(arrived.contextFeature.sum().item<float>(), 8);
}

INSTANTIATE_TEST_SUITE_P(WhenItIsCopied, FeatureFeedTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Ahead" : "InTake"; });

}  // namespace
}  // namespace redraft::model
