// Changes of a device add up to the change of its step; what cannot be matched, or is within the noise, has its line.
#include "harness/timing/time_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/harness/timing/timed_trace.h"

namespace redraft::harness {
namespace {

using testing_support::Launch;
using testing_support::TimedTrace;

constexpr std::int64_t kStep = 1'000'000;

/// Ten steps of these launches, whose times are of a step.
TimeSplit splitOf(const std::vector<Launch>& launches, std::int64_t stepNs = kStep) {
  TimedTrace built;
  for (int step = 0; step < 10; ++step) {
    for (Launch launch : launches) {
      launch.step = step;
      launch.calledAt += step * stepNs;
      launch.begin += step * stepNs;
      launch.end += step * stepNs;
      built.launch(launch);
    }
  }
  return splitTime(built.trace);
}

void expectSum(const TimeDifference& difference) {
  for (const DeviceChange& device : difference.devices) {
    double sum = 0, clear = device.residualNs;
    for (const TimeChange& change : device.changes) {
      sum += change.changeNs();
      if (change.clear) clear += change.changeNs();
    }
    EXPECT_NEAR(sum, device.changeNs(), 1e-3);
    EXPECT_NEAR(clear, device.changeNs(), 1e-3);
  }
}

TimeChange changeNamed(const TimeDifference& difference, const std::string& name) {
  for (const DeviceChange& device : difference.devices)
    for (const TimeChange& change : device.changes)
      if (change.name == name) return change;
  return {};
}

std::vector<Launch> aStep() {
  return {{.name = "gemm<128>", .begin = 0, .end = 400'000, .phase = "forward", .shape = "grid 8x1x1 block 128x1x1"},
          {.name = "softmax", .calledAt = 100, .begin = 400'000, .end = 500'000, .phase = "forward"}};
}

TEST(TimeDifferenceTest, ASlowerKernelIsNamedWithHowMuchAndWhere) {
  std::vector<Launch> slower = aStep();
  slower[1].end += 80'000;
  const TimeDifference difference = differenceOf(splitOf(aStep()), splitOf(slower));
  expectSum(difference);
  const TimeChange change = changeNamed(difference, "softmax");
  EXPECT_EQ(change.by, MatchedBy::kExact);
  EXPECT_TRUE(change.clear);
  EXPECT_DOUBLE_EQ(change.changeNs(), 80'000);
  EXPECT_DOUBLE_EQ(change.countB, 1);
  const std::string text = differenceText(difference, 8);
  EXPECT_NE(text.find("+0.080 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("1 × 100 → 1 × 180 µs"), std::string::npos) << text;
}

/// Device 0 waits for device 1, whose kernel became slower: the wait grew by more than the kernel.
TEST(TimeDifferenceTest, ASlowerStepNamesItsCauseBeforeTheWaitsThatFollow) {
  std::vector<Launch> before = aStep(), after = aStep();
  before.push_back({.name = "prefill", .begin = 0, .end = 300'000, .device = 1, .role = "target[0]"});
  after.push_back({.name = "prefill", .begin = 0, .end = 600'000, .device = 1, .role = "target[0]"});
  const TimeDifference difference = differenceOf(splitOf(before), splitOf(after, kStep + 400'000));
  expectSum(difference);
  const std::string text = differenceText(difference, 8);
  ASSERT_TRUE(text.starts_with("slower by\n")) << text;
  const std::string first = text.substr(10, text.find('\n', 10) - 10);
  EXPECT_NE(first.find("+0.300 ms  of +0.400  device 1 (target[0])"), std::string::npos) << text;
  EXPECT_NE(first.find("prefill"), std::string::npos) << text;
}

TEST(TimeDifferenceTest, ARenamedSpecialisationIsMatchedByItsBaseNameAndSaysSo) {
  std::vector<Launch> renamed = aStep();
  renamed[0].name = "gemm<256>";
  renamed[0].end -= 100'000;
  const TimeDifference difference = differenceOf(splitOf(aStep()), splitOf(renamed));
  expectSum(difference);
  const TimeChange change = changeNamed(difference, "gemm<256>");
  EXPECT_EQ(change.by, MatchedBy::kBase);
  EXPECT_EQ(change.nameA, "gemm<128>");
  EXPECT_DOUBLE_EQ(change.changeNs(), -100'000);
  EXPECT_NE(differenceText(difference, 8).find("by base name; was gemm<128>"), std::string::npos);
}

TEST(TimeDifferenceTest, AnotherShapeAnotherStreamAndWhatIsOnOneSideAreToldApart) {
  std::vector<Launch> other = aStep();
  other[0].shape = "grid 16x1x1 block 128x1x1";
  other[1].name = "layer_norm";
  const TimeDifference difference = differenceOf(splitOf(aStep()), splitOf(other));
  expectSum(difference);
  EXPECT_EQ(changeNamed(difference, "gemm<128>").by, MatchedBy::kName);
  EXPECT_EQ(changeNamed(difference, "gemm<128>").shapeA, "grid 8x1x1 block 128x1x1");
  EXPECT_EQ(changeNamed(difference, "softmax").by, MatchedBy::kOnlyA);
  EXPECT_EQ(changeNamed(difference, "layer_norm").by, MatchedBy::kOnlyB);
  std::vector<Launch> moved = aStep();
  moved[1].stream = 99;
  EXPECT_EQ(changeNamed(differenceOf(splitOf(aStep()), splitOf(moved)), "softmax").by, MatchedBy::kStream);
}

TEST(TimeDifferenceTest, MoreLaunchesAreCounted) {
  std::vector<Launch> twice = aStep();
  twice.push_back({.name = "softmax", .calledAt = 200, .begin = 500'000, .end = 600'000, .phase = "forward"});
  const TimeChange change = changeNamed(differenceOf(splitOf(aStep()), splitOf(twice)), "softmax");
  EXPECT_DOUBLE_EQ(change.countA, 1);
  EXPECT_DOUBLE_EQ(change.countB, 2);
}

/// As a step of `aStep`, with the end of every kernel off by up to `jitter`.
TimeSplit noisySplit(std::uint64_t seed, std::int64_t jitter) {
  std::mt19937_64 random(seed);
  TimedTrace built;
  for (int step = 0; step < 40; ++step) {
    for (Launch launch : aStep()) {
      launch.step = step;
      launch.begin += step * kStep;
      launch.calledAt = launch.begin - 1'000;
      launch.end += step * kStep - static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(jitter));
      built.launch(launch);
    }
  }
  return splitTime(built.trace);
}

TEST(TimeDifferenceTest, WhatIsWithinTheSpreadOfStepsIsResidualAndNotACause) {
  const TimeSplit a = noisySplit(1, 40'000), b = noisySplit(2, 40'000);
  const TimeDifference difference = differenceOf(a, b);
  expectSum(difference);
  const DeviceSplit &ofA = a.devices.front(), &ofB = b.devices.front();
  EXPECT_DOUBLE_EQ(difference.devices.front().errorNs,
                   std::hypot(ofA.spreadNs, ofB.spreadNs) / std::sqrt(static_cast<double>(ofA.stepCount())));
  for (const TimeChange& change : difference.devices.front().changes) EXPECT_FALSE(change.clear) << change.name;
  EXPECT_NEAR(difference.devices.front().residualNs, difference.devices.front().changeNs(), 1e-3);
  const std::string text = differenceText(difference, 8);
  EXPECT_TRUE(text.starts_with("nothing changed beyond what steps vary by\n")) << text;
  EXPECT_NE(text.find("residual"), std::string::npos) << text;
}

TEST(TimeDifferenceTest, AClearChangeIsNamedThoughTheStepAsAWholeHappenedToGoTheOtherWay) {
  TimeDifference difference;
  DeviceChange& device = difference.devices.emplace_back();
  device.device = 0;
  device.wallNsA = 100e6;
  device.wallNsB = 92e6;  // not clear
  TimeChange& planted = device.changes.emplace_back();
  planted.part = TimePart::kCompute;
  planted.name = "planted";
  planted.nsB = 20e6;
  planted.clear = true;
  device.residualNs = -28e6;
  const std::string text = differenceSummary(difference);
  EXPECT_TRUE(text.starts_with("no step is slower or faster beyond what steps vary by; within them\n  +20.000 ms"))
      << text;
  EXPECT_NE(text.find("planted"), std::string::npos) << text;
}

TEST(TimeDifferenceTest, DevicesOfOneSideAreListed) {
  std::vector<Launch> two = aStep();
  two.push_back({.name = "copy", .begin = 0, .end = 10, .device = 3});
  const TimeDifference difference = differenceOf(splitOf(aStep()), splitOf(two));
  EXPECT_EQ(difference.devices.size(), 1u);
  EXPECT_EQ(difference.onlyB, std::vector<std::string>{"device 3"});
}

TEST(TimeDifferenceTest, DevicesOfSeveralProcessesAreMatchedByTheirProcess) {
  TimeSplit a = splitOf(aStep());
  a.devices.push_back(a.devices.front());
  for (int rank = 0; rank < 2; ++rank) a.devices[rank].process = "rank " + std::to_string(rank);
  TimeSplit b = a;
  std::swap(b.devices[0], b.devices[1]);
  const TimeDifference difference = differenceOf(a, b);
  ASSERT_EQ(difference.devices.size(), 2u);
  EXPECT_EQ(difference.devices[0].process, "rank 0");
  EXPECT_EQ(difference.devices[1].process, "rank 1");
  EXPECT_TRUE(difference.onlyA.empty() && difference.onlyB.empty());
}

TEST(TimeDifferenceTest, OneDeviceEachIsTheSameOneWhateverItsNumber) {
  std::vector<Launch> elsewhere = aStep();
  for (Launch& launch : elsewhere) launch.device = 5;
  EXPECT_EQ(differenceOf(splitOf(aStep()), splitOf(elsewhere)).devices.size(), 1u);
}

TEST(TimeDifferenceTest, CallsThatWaitAreComparedByCount) {
  TimedTrace a, b;
  for (TimedTrace* each : {&a, &b}) each->launch({.begin = 0, .end = 1'000});
  b.call("cudaDeviceSynchronize", "target[0]", 10, 20);
  const TimeDifference difference = differenceOf(splitTime(a.trace), splitTime(b.trace));
  ASSERT_EQ(difference.waits.size(), 1u);
  EXPECT_EQ(difference.waits[0].role, "target[0]");
  EXPECT_NE(differenceText(difference, 8).find("target[0]  cudaDeviceSynchronize  0 → 1 ×"), std::string::npos)
      << differenceText(difference, 8);
}

}  // namespace
}  // namespace redraft::harness
