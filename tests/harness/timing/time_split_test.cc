// What a device did is split exactly: overlaps by precedence, steps by their first work, and parts that always add up.
#include "harness/timing/time_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>

#include "base/files.h"
#include "harness/trace/kineto_reader.h"
#include "tests/harness/timing/timed_trace.h"
#include "tests/paths.h"
#include "tests/support/expect_error.h"

namespace redraft::harness {
namespace {

using testing_support::expectBadInput;
using testing_support::groupOf;
using testing_support::partOf;
using testing_support::TimedTrace;

/// Parts of each step add up to it, those of all steps to the device's, groups to their parts; nothing is negative.
void expectExact(const DeviceSplit& device) {
  TimeParts ofSteps{}, ofGroups{};
  std::int64_t wall = 0;
  for (const StepTime& step : device.steps) {
    EXPECT_EQ(std::accumulate(step.parts.begin(), step.parts.end(), std::int64_t{0}), step.wallNs) << step.step;
    for (std::size_t part = 0; part < kTimeParts; ++part) {
      EXPECT_GE(step.parts[part], 0);
      ofSteps[part] += step.parts[part];
    }
    wall += step.wallNs;
  }
  for (const TimeGroup& group : device.groups) {
    EXPECT_GE(group.ns, 0);
    ofGroups[static_cast<std::size_t>(group.part)] += group.ns;
  }
  EXPECT_EQ(wall, device.wallNs);
  EXPECT_EQ(ofSteps, device.parts);
  EXPECT_EQ(ofGroups, device.parts);
}

/// Length of the union of the work in the steps of a device, by sorting and merging.
std::int64_t busyByMerging(const Trace& trace, const DeviceSplit& device) {
  std::vector<std::pair<std::int64_t, std::int64_t>> work;
  for (const TraceRecord& record : trace.records)
    if (isDeviceWork(record.kind) && record.device == device.device)
      for (const StepTime& step : device.steps)
        work.emplace_back(std::max(record.startNs, step.beginNs), std::min(record.endNs(), step.beginNs + step.wallNs));
  std::erase_if(work, [](const auto& each) { return each.first >= each.second; });
  std::sort(work.begin(), work.end());
  std::int64_t busy = 0, until = std::numeric_limits<std::int64_t>::min();
  for (const auto& [begin, end] : work) {
    busy += std::max<std::int64_t>(0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return busy;
}

std::int64_t busyOf(const DeviceSplit& device) {
  return partOf(device, TimePart::kCompute) + partOf(device, TimePart::kCommunication) +
         partOf(device, TimePart::kCopies);
}

TEST(TimeSplitTest, ComputeHidesCommunicationAndThatHidesCopies) {
  TimedTrace built;
  built.launch({.begin = 0, .end = 100, .stream = 7});
  built.launch({.name = "ncclDevKernel_AllReduce_Sum_f32", .begin = 50, .end = 200, .stream = 8});
  built.launch({.name = "Memcpy PtoP (Device -> Device)",
                .begin = 150,
                .end = 260,
                .stream = 9,
                .kind = RecordKind::kPeerCopy,
                .bytes = 64});
  const DeviceSplit device = splitTime(built.trace).devices.front();
  expectExact(device);
  EXPECT_EQ(partOf(device, TimePart::kCompute), 100);
  EXPECT_EQ(partOf(device, TimePart::kCommunication), 100);
  EXPECT_EQ(partOf(device, TimePart::kCopies), 60);
  const TimeGroup communication = groupOf(device, TimePart::kCommunication);
  EXPECT_EQ(std::make_tuple(communication.count, communication.busyNs, communication.ns), std::make_tuple(1, 150, 100));
  EXPECT_EQ(groupOf(device, TimePart::kCopies).shape, "64 bytes");
}

TEST(TimeSplitTest, WorkThatRunsAtOnceSharesTheTime) {
  TimedTrace built;
  built.launch({.name = "outer", .begin = 0, .end = 101, .stream = 7});
  built.launch({.name = "inner", .begin = 10, .end = 31, .stream = 8});
  const DeviceSplit device = splitTime(built.trace).devices.front();
  expectExact(device);
  ASSERT_EQ(device.groups.size(), 2u);
  EXPECT_EQ(device.groups[0].ns, 80 + 11);  // of 21 shared nanoseconds the odd one is its, who began first
  EXPECT_EQ(device.groups[1].ns, 10);
  EXPECT_EQ(device.groups[1].busyNs, 21);
}

TEST(TimeSplitTest, AStepGoesFromItsFirstWorkToThatOfTheNext) {
  TimedTrace built;
  for (int step = 0; step < 5; ++step)
    built.launch({.begin = step * 1'000, .end = step * 1'000 + 100 * (step + 1), .step = step});
  const TimeSplit split = splitTime(built.trace);
  EXPECT_EQ(split.steps, (std::vector<std::int64_t>{1, 2, 3}));  // a quarter of five at the beginning, and the last
  EXPECT_EQ(split.leftOut, (std::vector<std::int64_t>{0, 4}));
  const DeviceSplit& device = split.devices.front();
  expectExact(device);
  EXPECT_EQ(device.wallNs, 3'000);
  EXPECT_EQ(partOf(device, TimePart::kCompute), 200 + 300 + 400);
  EXPECT_EQ(groupOf(device, TimePart::kCompute).count, 3);
  EXPECT_EQ(splitTime(built.trace, {0}).steps.size(), 4u);
  expectBadInput([&] { splitTime(built.trace, {5}); }, {"timed.json", "has 5 steps"});
}

TEST(TimeSplitTest, AStepMayBeginOnOneStreamBeforeTheOneBeforeItEndsOnAnother) {
  TimedTrace built;
  built.launch({.begin = 0, .end = 500, .step = 0, .stream = 7});
  built.launch({.begin = 300, .end = 400, .step = 1, .stream = 8});
  built.launch({.begin = 900, .end = 950, .step = 1, .stream = 7});
  built.launch({.begin = 1'000, .end = 1'100, .step = 2, .stream = 7});
  const DeviceSplit device = splitTime(built.trace).devices.front();
  ASSERT_EQ(device.steps.size(), 2u);
  EXPECT_EQ(device.steps[0].wallNs, 300);
  EXPECT_EQ(device.steps[1].wallNs, 700);
  expectExact(device);
}

TEST(TimeSplitTest, StreamsAreNumberedByTheirFirstWorkAndARolesOwnIsNamed) {
  TimedTrace built;
  built.launch({.name = "a", .begin = 0, .end = 10, .stream = 40});
  built.launch({.name = "b", .begin = 20, .end = 30, .stream = 13});
  TraceRecord& own = built.add(RecordKind::kStream, "stream of a role", 1, 2);
  own.role = built.trace.strings.intern("drafter");
  own.context = 1;
  own.stream = 13;
  own.flags = kOwned;
  std::map<std::string, std::string> streams;
  const TimeSplit split = splitTime(built.trace);
  for (const TimeGroup& group : split.devices.front().groups)
    if (isBusy(group.part)) streams[group.name] = group.stream;
  EXPECT_EQ(streams, (std::map<std::string, std::string>{{"a", "#1"}, {"b", "own"}}));
}

/// As torch.profiler writes it without a schedule: no roles, no steps, ranges of the thread.
TEST(TimeSplitTest, RangesOfTheThreadStandForPhasesAndThoseOfTheOptimiserForSteps) {
  TimedTrace built;
  for (std::int64_t step = 0; step < 4; ++step) {
    const std::int64_t at = step * 1'000;
    built.launch({.name = "gemm", .calledAt = at, .begin = at + 10, .end = at + 400, .step = -1, .role = ""});
    built.launch({.name = "adamw", .calledAt = at + 100, .begin = at + 400, .end = at + 500, .step = -1, .role = ""});
    built.add(RecordKind::kAnnotation, "train", at + 50, at + 200).thread = 5;
    built.add(RecordKind::kAnnotation, "Optimizer.step#AdamW.step", at + 90, at + 150).thread = 5;
  }
  const TimeSplit split = splitTime(built.trace, {0});
  EXPECT_EQ(split.steps, (std::vector<std::int64_t>{0, 1, 2}));
  std::map<std::string, std::string> phases;
  for (const TimeGroup& group : split.devices.front().groups)
    if (isBusy(group.part)) phases[group.name] = group.phase;
  EXPECT_EQ(phases, (std::map<std::string, std::string>{{"adamw", "Optimizer.step#AdamW.step"}, {"gemm", ""}}));
  EXPECT_EQ(split.devices.front().wallNs, 3'000);
}

TEST(TimeSplitTest, OfRangesThatBeginTogetherTheShorterIsTheInnerOne) {
  TimedTrace built;
  built.add(RecordKind::kAnnotation, "layer", 50, 150).thread = 5;
  built.add(RecordKind::kAnnotation, "model", 50, 200).thread = 5;
  built.launch({.name = "gemm", .calledAt = 60, .begin = 100, .end = 200, .step = -1, .role = ""});
  built.launch({.name = "head", .calledAt = 160, .begin = 200, .end = 300, .step = -1, .role = ""});
  const TimeSplit split = splitTime(built.trace);
  std::map<std::string, std::string> phases;
  for (const TimeGroup& group : split.devices.front().groups) phases[group.name] = group.phase;
  EXPECT_EQ(phases, (std::map<std::string, std::string>{{"gemm", "layer"}, {"head", "model"}}));
}

TEST(TimeSplitTest, ATraceWithoutStepsIsOneAndSaysSo) {
  TimedTrace built;
  built.launch({.begin = 0, .end = 500, .step = -1});
  const TimeSplit split = splitTime(built.trace);
  EXPECT_EQ(split.steps, std::vector<std::int64_t>{-1});
  EXPECT_EQ(split.devices.front().wallNs, 500);
  EXPECT_NE(split.notes.front().find("the whole trace is taken for one"), std::string::npos);
  expectBadInput([] { splitTime(TimedTrace().trace); }, {"holds no work of a device"});
}

/// Work of random lengths on random streams of two devices, some launched late, with waits of hosts and streams.
TimedTrace randomTrace(std::mt19937_64& random) {
  const auto upTo = [&random](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  TimedTrace built;
  const char* names[] = {"matmul", "softmax", "ncclDevKernel_AllReduce", "void k<1>(int)"};
  std::vector<std::int64_t> recordings = {999'999};
  std::int64_t now = upTo(1'000'000);
  const std::int64_t count = 1 + upTo(60);
  for (std::int64_t i = 0; i < count; ++i) {
    now += upTo(30'000);
    const std::string role = upTo(2) == 0 ? "drafter" : "target[0]";
    const int device = static_cast<int>(upTo(2)), stream = static_cast<int>(7 + upTo(3));
    const std::int64_t calledAt = now - upTo(60'000), begin = now + upTo(100);
    const bool copy = upTo(4) == 0;
    if (upTo(4) == 0)
      built.streamWaits(role, device, stream, calledAt - 1,
                        recordings[static_cast<std::size_t>(upTo(static_cast<std::int64_t>(recordings.size())))]);
    built.launch({.name = copy ? "Memcpy DtoH (Device -> Pageable)" : names[upTo(4)],
                  .calledAt = calledAt,
                  .begin = begin,
                  .end = begin + upTo(5) * upTo(20'000),
                  .step = static_cast<int>(i / 9) - (upTo(9) == 0 ? 1 : 0),
                  .device = device,
                  .stream = stream,
                  .role = role,
                  .kind = copy ? RecordKind::kCopy : RecordKind::kKernel,
                  .bytes = upTo(3)});
    if (copy && upTo(2) == 0) built.trace.records.back().flags = kPageable;
    if (upTo(5) == 0) recordings.push_back(built.event(role, device, stream, calledAt + 11));
    if (upTo(5) == 0) built.call("cudaStreamSynchronize", role, now, now + upTo(50'000));
  }
  return built;
}

TEST(TimeSplitTest, PartsOfRandomTracesAddUpWhateverTheOrderOfTheirRecords) {
  std::mt19937_64 random(20261130);
  for (int round = 0; round < 400; ++round) {
    TimedTrace built = randomTrace(random);
    const TimeSplit split = splitTime(built.trace);
    for (const DeviceSplit& device : split.devices) {
      expectExact(device);
      EXPECT_EQ(busyOf(device), busyByMerging(built.trace, device));
    }
    const std::string before = oneLine(recordToJson(split));
    std::shuffle(built.trace.records.begin(), built.trace.records.end(), random);
    ASSERT_EQ(oneLine(recordToJson(splitTime(built.trace))), before) << "round " << round;
  }
}

TEST(TimeSplitTest, RefusesTimesThatNoClockShows) {
  for (const std::int64_t at : {std::int64_t{4'000'000'000'000'000'000}, std::int64_t{-4'000'000'000'000'000'000}}) {
    TimedTrace built;
    built.launch({.begin = 0, .end = 100});
    built.trace.records.back().startNs = at;
    expectBadInput([&] { splitTime(built.trace); }, {"timed.json: event 1", "no clock shows"});
  }
}

TEST(TimeSplitTest, TheDocumentNamesPartsAndAddsUp) {
  TimedTrace built;
  built.launch({.begin = 0, .end = 100, .shape = "grid 1x1x1 block 32x1x1"});
  const Json json = recordToJson(splitTime(built.trace));
  EXPECT_EQ(json["devices"][0]["parts_ns"]["compute"], 100);
  EXPECT_EQ(json["devices"][0]["steps"][0]["parts_ns"]["late_launch"], 0);
  EXPECT_EQ(json["devices"][0]["groups"][0]["shape"], "grid 1x1x1 block 32x1x1");
}

/// The folder of the real traces that the test below reads; empty where they are not.
std::string realTrace(const std::string& name) {
  const char* given = std::getenv("REDRAFT_TRACES");
  const std::string folder = given != nullptr ? given : joinPath(kSourceFolder, "../shared/traces");
  const std::string path = joinPath(folder, name);
  return fileExists(path) ? path : "";
}

class RealTraceTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RealTraceTest, AddsUpAndIsBusyAsLongAsItsWorkMerged) {
  const std::string path = realTrace(GetParam());
  if (path.empty()) GTEST_SKIP() << GetParam() << " is not here; REDRAFT_TRACES names the folder of the real traces";
  const Trace trace = readKineto(path);
  const TimeSplit split = splitTime(trace);
  ASSERT_FALSE(split.devices.empty());
  for (const DeviceSplit& device : split.devices) {
    expectExact(device);
    EXPECT_EQ(busyOf(device), busyByMerging(trace, device));
    EXPECT_GT(busyOf(device), 0);
    EXPECT_FALSE(groupOf(device, TimePart::kUnknown).ns > device.wallNs / 20) << splitText(split, 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, RealTraceTest,
                         ::testing::Values("specforge_h200_8steps.kineto.json.gz",
                                           "hta_trace_diff_control.kineto.json.gz",
                                           "hta_trace_diff_test.kineto.json.gz"));

}  // namespace
}  // namespace redraft::harness
