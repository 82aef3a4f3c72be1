// Every cause of idle time is told from the others, to the nanosecond.
#include "harness/timing/idle_causes.h"

#include <gtest/gtest.h>

#include "tests/harness/timing/timed_trace.h"

namespace redraft::harness {
namespace {

using testing_support::groupOf;
using testing_support::Launch;
using testing_support::partOf;
using testing_support::TimedTrace;

/// One step of two kernels; the second is launched at `calledAt` and begins at 100'000.
TimedTrace twoKernels(std::int64_t calledAt) {
  TimedTrace built;
  built.launch({.calledAt = 500, .begin = 1'000, .end = 10'000});
  built.launch({.calledAt = calledAt, .begin = 100'000, .end = 110'000, .phase = "backward"});
  return built;
}

DeviceSplit splitOfOne(const TimedTrace& built) {
  const TimeSplit split = splitTime(built.trace);
  EXPECT_EQ(split.devices.size(), 1u);
  return split.devices.front();
}

/// `idle` is all of the 90'000 ns between the kernels.
void expectIdle(const DeviceSplit& device, const std::vector<std::pair<TimePart, std::int64_t>>& idle) {
  TimeParts expected{};
  expected[static_cast<std::size_t>(TimePart::kCompute)] = 19'000;
  for (const auto& [part, ns] : idle) expected[static_cast<std::size_t>(part)] += ns;
  for (std::size_t part = 0; part < kTimeParts; ++part)
    EXPECT_EQ(device.parts[part], expected[part]) << partTitle(static_cast<TimePart>(part));
  EXPECT_EQ(device.wallNs, 109'000);
}

TEST(IdleCausesTest, ALaunchThatBeganAfterTheDeviceWentIdleIsLate) {
  const DeviceSplit device = splitOfOne(twoKernels(95'000));
  expectIdle(device, {{TimePart::kLateLaunch, 85'000}, {TimePart::kLaunchLatency, 5'000}});
  const TimeGroup late = groupOf(device, TimePart::kLateLaunch);
  EXPECT_EQ(late.role + " " + late.phase, "drafter backward");
}

TEST(IdleCausesTest, AThreadInASynchronisingCallIsHostSyncAndWhatFollowsItIsKeptApart) {
  TimedTrace built = twoKernels(95'000);
  built.call("cudaStreamSynchronize", "drafter", 2'000, 30'000);
  const DeviceSplit device = splitOfOne(built);
  expectIdle(device,
             {{TimePart::kHostSync, 20'000}, {TimePart::kAfterSync, 65'000}, {TimePart::kLaunchLatency, 5'000}});
  EXPECT_EQ(groupOf(device, TimePart::kHostSync).name, "cudaStreamSynchronize");
  EXPECT_EQ(groupOf(device, TimePart::kAfterSync).name, "cudaStreamSynchronize");
}

TEST(IdleCausesTest, BeforeASynchronisationThatBeganLaterTheLaunchWasLate) {
  TimedTrace built = twoKernels(95'000);
  built.call("cudaEventSynchronize", "drafter", 40'000, 60'000);
  expectIdle(splitOfOne(built), {{TimePart::kLateLaunch, 30'000},
                                 {TimePart::kHostSync, 20'000},
                                 {TimePart::kAfterSync, 35'000},
                                 {TimePart::kLaunchLatency, 5'000}});
}

TEST(IdleCausesTest, AnotherRolesSynchronisationIsNoCause) {
  TimedTrace built = twoKernels(95'000);
  built.call("cudaStreamSynchronize", "target[0]", 2'000, 90'000);
  expectIdle(splitOfOne(built), {{TimePart::kLateLaunch, 85'000}, {TimePart::kLaunchLatency, 5'000}});
}

TEST(IdleCausesTest, ACopyFromPageableMemoryHoldsItsThread) {
  TimedTrace built = twoKernels(95'000);
  built.launch({.name = "Memcpy HtoD (Pageable -> Device)",
                .calledAt = 3'000,
                .begin = 4'000,
                .end = 5'000,
                .kind = RecordKind::kCopy,
                .bytes = 8});
  built.trace.records.back().flags = kPageable;
  built.trace.records[built.trace.records.size() - 2].durationNs = 17'000;  // its call, until 20'000
  expectIdle(splitOfOne(built),
             {{TimePart::kHostSync, 10'000}, {TimePart::kAfterSync, 75'000}, {TimePart::kLaunchLatency, 5'000}});
}

TEST(IdleCausesTest, AStreamThatWaitedForAnotherDevicesEventNamesWhoseWorkItWas) {
  TimedTrace built = twoKernels(9'000);
  built.launch({.calledAt = 600, .begin = 1'000, .end = 97'000, .device = 1, .role = "target[0]"});
  built.streamWaits("drafter", 0, 7, 8'000, built.event("target[0]", 1, 7, 700));
  const TimeSplit split = splitTime(built.trace);
  ASSERT_EQ(split.devices.size(), 2u);
  expectIdle(split.devices[0], {{TimePart::kEventWait, 87'000}, {TimePart::kLaunchLatency, 3'000}});
  EXPECT_EQ(groupOf(split.devices[0], TimePart::kEventWait).name, "target[0] on device 1");
}

TEST(IdleCausesTest, AnEventIsCompleteWhenAllWorkBeforeItIs) {
  TimedTrace built = twoKernels(9'000);
  built.launch({.calledAt = 600, .begin = 1'000, .end = 97'000, .device = 1, .role = "target[0]"});
  built.launch({.calledAt = 650, .begin = 2'000, .end = 5'000, .device = 1, .role = "target[0]"});
  built.streamWaits("drafter", 0, 7, 8'000, built.event("target[0]", 1, 7, 700));
  expectIdle(splitTime(built.trace).devices[0], {{TimePart::kEventWait, 87'000}, {TimePart::kLaunchLatency, 3'000}});
}

TEST(IdleCausesTest, AnEventThatWasCompleteIsNoCause) {
  TimedTrace built = twoKernels(9'000);
  built.launch({.calledAt = 600, .begin = 1'000, .end = 5'000, .device = 1, .role = "target[0]"});
  built.streamWaits("drafter", 0, 7, 8'000, built.event("target[0]", 1, 7, 700));
  expectIdle(splitTime(built.trace).devices[0],
             {{TimePart::kLaunchLatency, kLaunchLatencyNs}, {TimePart::kUnknown, 90'000 - kLaunchLatencyNs}});
}

TEST(IdleCausesTest, AnEventWhoseRecordingIsNotThereExplainsWhatLaunchingDoesNot) {
  TimedTrace built = twoKernels(9'000);
  built.streamWaits("drafter", 0, 7, 8'000, 123'456);
  const DeviceSplit device = splitOfOne(built);
  expectIdle(device, {{TimePart::kEventWait, 90'000}});
  EXPECT_EQ(groupOf(device, TimePart::kEventWait).name, "an event that the trace does not hold");
}

TEST(IdleCausesTest, AWaitThatAnEarlierKernelHasPassedIsNotTheNextOnes) {
  TimedTrace built = twoKernels(9'000);
  built.streamWaits("drafter", 0, 7, 400, 123'456);  // before the first kernel
  expectIdle(splitOfOne(built),
             {{TimePart::kLaunchLatency, kLaunchLatencyNs}, {TimePart::kUnknown, 90'000 - kLaunchLatencyNs}});
}

TEST(IdleCausesTest, WhatTheTraceCannotTellIsUnknown) {
  TimedTrace built = twoKernels(9'000);
  std::erase_if(built.trace.records, [](const TraceRecord& record) { return record.kind == RecordKind::kApi; });
  const TimeSplit split = splitTime(built.trace);
  expectIdle(split.devices.front(), {{TimePart::kUnknown, 90'000}});
  ASSERT_FALSE(split.notes.empty());
  EXPECT_NE(split.notes.front().find("no calls were recorded"), std::string::npos) << split.notes.front();
}

TEST(IdleCausesTest, WaitsForSimulatedDevicesAreCountedAndCauseNothing) {
  TimedTrace built = twoKernels(95'000);
  built.trace.files.front().capture.source = "sim";
  built.call("cuCtxSynchronize", "drafter", 11'000, 11'001);
  expectIdle(splitOfOne(built), {{TimePart::kLateLaunch, 85'000}, {TimePart::kLaunchLatency, 5'000}});
  EXPECT_EQ(splitTime(built.trace).waits.front().count, 1);
}

TEST(IdleCausesTest, CallsThatWaitAreCountedByRole) {
  TimedTrace built = twoKernels(95'000);
  for (int i = 0; i < 3; ++i) built.call("cudaDeviceSynchronize", "target[0]", 2'000, 2'100);
  built.call("cudaStreamSynchronize", "drafter", 2'000, 30'000);
  const TimeSplit split = splitTime(built.trace);
  ASSERT_EQ(split.waits.size(), 2u);
  EXPECT_EQ(std::make_tuple(split.waits[0].role, split.waits[0].count, split.waits[0].ns),
            std::make_tuple("drafter", 1, 28'000));
  EXPECT_EQ(std::make_tuple(split.waits[1].role, split.waits[1].count, split.waits[1].ns),
            std::make_tuple("target[0]", 3, 300));
}

TEST(IdleCausesTest, CallsThatWaitAreCountedInTheStepsThatAreSplit) {
  TimedTrace built;
  for (int step = 0; step < 4; ++step) {
    built.launch({.calledAt = step * 1'000, .begin = step * 1'000 + 10, .end = step * 1'000 + 500, .step = step});
    built.call("cudaStreamSynchronize", "drafter", step * 1'000 + 600, step * 1'000 + 700, step);
  }
  const TimeSplit split = splitTime(built.trace, {1});
  ASSERT_EQ(split.steps, (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(split.waits.size(), 1u);
  EXPECT_EQ(split.waits[0].count, 2);
}

TEST(IdleCausesTest, ACallThatWaitsAndCopiesFromPageableMemoryIsCountedOnce) {
  TimedTrace built = twoKernels(95'000);
  built.launch({.name = "Memcpy DtoH (Device -> Pageable)",
                .calledAt = 3'000,
                .begin = 4'000,
                .end = 5'000,
                .kind = RecordKind::kCopy,
                .bytes = 8});
  built.trace.records.back().flags = kPageable;
  built.trace.records[built.trace.records.size() - 2].name = built.trace.strings.intern("cudaMemcpy");
  const TimeSplit split = splitTime(built.trace);
  ASSERT_EQ(split.waits.size(), 1u);
  EXPECT_EQ(split.waits[0].call, "cudaMemcpy");
  EXPECT_EQ(split.waits[0].count, 1);
}

}  // namespace
}  // namespace redraft::harness
