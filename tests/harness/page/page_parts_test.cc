// The parts of the HTML report, from records, traces and events.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "harness/page/parts.h"
#include "harness/page/timeline.h"
#include "tests/golden/fake_run.h"
#include "tests/harness/affinity/trace_builder.h"
#include "tests/harness/event_builder.h"

namespace redraft::harness {
namespace {

using golden::exampleRecord;
using testing_support::TraceBuilder;

PageGolden goldenOf(golden::Record record) {
  PageGolden golden;
  golden.name = "single-drafter (cpu)";
  golden.numerics = std::move(record);
  return golden;
}

TEST(CurvesTest, NameTheFirstStepThatDiffersFromTheGolden) {
  golden::Record run = exampleRecord();
  EXPECT_FALSE(curvesOf(run, goldenOf(exampleRecord()), {}).firstDifferent.has_value());
  run.steps[1].values["grad_norm"] = 2.5;
  run.steps[2].values["loss"] = 9;
  const reports::Curves curves = curvesOf(run, goldenOf(exampleRecord()), {});
  EXPECT_EQ(curves.firstDifferent, 1);
  ASSERT_EQ(curves.metrics.size(), 6u);
  for (const reports::MetricCurve& each : curves.metrics) EXPECT_EQ(each.golden.size(), 3u) << each.metric;
  EXPECT_TRUE(curvesOf(run, {}, {}).golden.empty());
}

TEST(CurvesTest, ARunThatIsLongerThanItsGoldenHasNoGoldenValuesThere) {
  golden::Record shorter = exampleRecord();
  shorter.steps.pop_back();
  const reports::Curves curves = curvesOf(exampleRecord(), goldenOf(shorter), {});
  EXPECT_EQ(curves.firstDifferent, 2);
  EXPECT_TRUE(std::isnan(curves.metrics.front().golden.back()));
}

TEST(CurvesTest, BeyondTheLimitTheFirstAndTheLastStepStayAndTheRestIsSaid) {
  golden::Record run = exampleRecord();
  for (int step = 3; step < 1000; ++step) {
    run.steps.push_back(run.steps.back());
    run.steps.back().step = step;
  }
  const reports::Curves curves = curvesOf(run, {}, {});
  ASSERT_EQ(curves.steps.size(), PageLimits().steps);
  EXPECT_EQ(curves.steps.front(), 0);
  EXPECT_EQ(curves.steps.back(), 999);
  EXPECT_EQ(curves.note, "Shown: 400 of 1000 steps.");
}

TEST(GradientMapTest, ShowsDistancesFromTheGoldenTheLargestFirst) {
  golden::Record run = exampleRecord();
  run.gradients[2][1].hash = std::string(32, 'f');
  run.gradients[2][1].sketch.fill(0.5F);  // twice the golden's 0.25: as far away as it is long
  const auto map = gradientMapOf(run, goldenOf(exampleRecord()), {});
  ASSERT_TRUE(map.has_value());
  EXPECT_TRUE(map->distances);
  EXPECT_EQ(map->parameters, (std::vector<std::string>{"norm.weight", "fc.weight"}));
  EXPECT_EQ(map->rows[0], (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(map->rows[1], (std::vector<double>{0, 0, 0}));
  PageLimits one;
  one.parameters = 1;
  EXPECT_NE(gradientMapOf(run, goldenOf(exampleRecord()), one)->note.find("1 of 2 parameters"), std::string::npos);
}

TEST(GradientMapTest, WhereEveryGradientEqualsTheGoldensItSaysSoAndShowsNorms) {
  const auto map = gradientMapOf(exampleRecord(), goldenOf(exampleRecord()), {});
  EXPECT_FALSE(map->distances);
  EXPECT_EQ(map->rows[0], (std::vector<double>{1, 1, 1}));
  EXPECT_NE(map->note.find("equals the golden's bit for bit"), std::string::npos);
}

TEST(GradientMapTest, WithoutAGoldenItShowsNormsAndWithoutDigestsNothing) {
  golden::Record run = exampleRecord();
  const auto map = gradientMapOf(run, {}, {});
  ASSERT_TRUE(map.has_value());
  EXPECT_FALSE(map->distances);
  EXPECT_EQ(map->rows[0], (std::vector<double>{1, 1, 1}));
  for (auto& step : run.gradients) step.clear();
  EXPECT_FALSE(gradientMapOf(run, {}, {}).has_value());
}

Contract twoDrafters() {
  Contract contract;
  for (const int device : {6, 7}) {
    RoleContract& role = contract.roles["drafter[" + std::to_string(device - 6) + "]"];
    role.devices = {device};
    role.hostSyncs = 0;
    role.defaultStream = true;
  }
  contract.roles["drafter[0]"].copies = {{0, 6, true, {}}};
  return contract;
}

reports::CaseDetails traceParts(const TraceBuilder& built, std::size_t maxBars = 10'000, std::size_t maxLanes = 64) {
  std::vector<RankTrace> traces;
  traces.push_back({0, built.trace, twoDrafters()});
  reports::CaseDetails details;
  PageLimits limits;
  limits.barsOfCase = maxBars;
  limits.lanes = maxLanes;
  addTraceParts(traces, limits, details);
  return details;
}

const reports::AffinityCell* cellAt(const reports::Affinity& affinity, const std::string& role, int device) {
  for (const reports::AffinityCell& cell : affinity.cells)
    if (cell.role == role && cell.device == device) return &cell;
  return nullptr;
}

TEST(AffinityPartTest, MarksWhatIsAgainstTheContractAndKeepsWhatWasNotUsed) {
  TraceBuilder built;
  for (int i = 0; i < 3; ++i) built.kernel("drafter[0]", 6);
  built.kernel("drafter[0]", 7);
  built.peerCopy("drafter[0]", 0, 6, 100);
  built.peerCopy("drafter[0]", 6, 7, 50);
  const reports::CaseDetails details = traceParts(built);
  ASSERT_TRUE(details.affinity.has_value());
  const reports::AffinityCell* good = cellAt(*details.affinity, "drafter[0]", 6);
  const reports::AffinityCell* wrong = cellAt(*details.affinity, "drafter[0]", 7);
  const reports::AffinityCell* unused = cellAt(*details.affinity, "drafter[1]", 7);
  ASSERT_TRUE(good != nullptr && wrong != nullptr && unused != nullptr);
  EXPECT_EQ(good->allowed, "yes");
  EXPECT_EQ(good->kernels, 3);
  EXPECT_EQ(wrong->allowed, "no");
  EXPECT_EQ(wrong->checks, std::vector<std::string>{"A1 wrong-device"});
  EXPECT_EQ(unused->allowed, "yes");
  EXPECT_EQ(unused->kernels + unused->copies, 0);
  ASSERT_EQ(details.affinity->copies.size(), 2u);
  EXPECT_EQ(details.affinity->copies[0].allowed, "yes");
  EXPECT_EQ(details.affinity->copies[1].allowed, "no");
  EXPECT_EQ(details.affinity->copies[1].bytes, 50);
}

TEST(TimelinePartTest, HasALaneAStreamAndAMarkAtTheRecordThatIsWrong) {
  TraceBuilder built;
  built.kernel("drafter[0]", 6, 7).step = 0;
  built.kernel("drafter[0]", 6, 9).step = 1;
  built.kernel("drafter[1]", 6, 7).step = 1;  // not its device
  const reports::CaseDetails details = traceParts(built);
  ASSERT_TRUE(details.timeline.has_value());
  const reports::Timeline& timeline = *details.timeline;
  EXPECT_EQ(timeline.records, 3);
  ASSERT_GE(timeline.lanes.size(), 2u);
  EXPECT_EQ(timeline.lanes[0].name, "device 6, stream 7") << "two roles use it";
  EXPECT_EQ(timeline.lanes[1].name, "device 6, stream 9, drafter[0]");
  EXPECT_EQ(timeline.lanes[0].gap, (std::vector<std::int64_t>{0, 3500}));
  EXPECT_EQ(timeline.lanes[0].length, (std::vector<std::int64_t>{500, 500}));
  EXPECT_EQ(timeline.lanes[0].step, (std::vector<std::int64_t>{0, 1}));
  const auto mark = std::find_if(timeline.marks.begin(), timeline.marks.end(),
                                 [](const auto& each) { return each.check == "A1 wrong-device"; });
  ASSERT_NE(mark, timeline.marks.end());
  EXPECT_EQ(mark->lane, 0);
  EXPECT_EQ(mark->at, 4000);
  ASSERT_EQ(timeline.steps.size(), 2u);
  EXPECT_EQ(timeline.steps[0].end, timeline.steps[1].begin);
  EXPECT_EQ(timeline.steps[1].end, timeline.length);
}

TEST(TimelinePartTest, MergingLosesNoRecordAndSaysSo) {
  TraceBuilder built;
  for (int i = 0; i < 3000; ++i) {
    TraceRecord& record = built.work(i % 3 == 0 ? RecordKind::kKernel : RecordKind::kCopy,
                                     "name" + std::to_string(i % 11), "drafter[0]", 6 + i % 2);
    record.step = i / 100;
  }
  for (const std::size_t most : {5000, 1000, 100}) {
    const reports::CaseDetails details = traceParts(built, most);
    std::size_t bars = 0;
    std::int64_t records = 0;
    for (const reports::Lane& lane : details.timeline->lanes) {
      bars += lane.gap.size();
      for (const std::int64_t gap : lane.gap) EXPECT_GE(gap, 0);
      records += lane.count.empty() ? static_cast<std::int64_t>(lane.gap.size())
                                    : std::accumulate(lane.count.begin(), lane.count.end(), std::int64_t{0});
    }
    EXPECT_LE(bars, most);
    EXPECT_EQ(records, 3000);
    EXPECT_EQ(details.timeline->note.empty(), most == 5000) << details.timeline->note;
  }
}

TEST(TimelinePartTest, OfMoreStreamsThanLanesThoseThatWorkLeastShareOneAndKeepTheirMarks) {
  TraceBuilder built;
  for (int stream = 0; stream < 40; ++stream)
    for (int i = 0; i <= stream; ++i) built.kernel("drafter[0]", 6, 100 + stream);
  built.kernel("drafter[1]", 6, 100);  // not its device, on the stream that works least
  const reports::CaseDetails details = traceParts(built, 10'000, 8);
  const reports::Timeline& timeline = *details.timeline;
  std::size_t records = 0, streams = 0;
  for (const reports::Lane& lane : timeline.lanes) {
    records += lane.gap.size();
    streams += lane.device >= 0 ? 1 : 0;
  }
  EXPECT_LE(timeline.lanes.size(), 8u);
  EXPECT_EQ(records, 40u * 41 / 2 + 1);
  EXPECT_EQ(timeline.lanes[0].name,
            "device 6, stream " + std::to_string(100 + 40 - static_cast<int>(streams) + 1) + ", drafter[0]")
      << "the busiest keep theirs";
  const std::size_t shared = streams - 1;
  EXPECT_EQ(timeline.lanes[shared].name, "device 6, " + std::to_string(40 - shared) + " more streams");
  EXPECT_NE(timeline.note.find("Of 40 streams, the " + std::to_string(40 - shared)), std::string::npos)
      << timeline.note;
  const auto mark = std::find_if(timeline.marks.begin(), timeline.marks.end(),
                                 [](const auto& each) { return each.check == "A1 wrong-device"; });
  ASSERT_NE(mark, timeline.marks.end());
  EXPECT_EQ(mark->lane, static_cast<std::int64_t>(shared));
  EXPECT_TRUE(traceParts(built).timeline->note.empty());
}

TEST(TimelinePartTest, ANameOfAKernelIsShortened) {
  TraceBuilder built;
  const std::string name = "void at::native::vectorized_elementwise_kernel<4, " + std::string(500, 'x') + ">(int)";
  built.work(RecordKind::kKernel, name, "drafter[0]", 6);
  const reports::CaseDetails details = traceParts(built);
  EXPECT_LE(details.timeline->labels[0].name.size(), 125u);
  EXPECT_TRUE(details.timeline->labels[0].name.starts_with("vectorized_elementwise_kernel<4, x"));
}

TEST(TimelinePartTest, ATraceWithoutWorkIsANotice) {
  const TraceBuilder built;
  const reports::CaseDetails details = traceParts(built);
  EXPECT_FALSE(details.timeline.has_value());
  EXPECT_TRUE(details.notices.contains(reports::part::kTimeline));
}

RankRecord rankOf(const Evidence& evidence) {
  RankRecord rank;
  rank.folder = "/nowhere";
  rank.events = evidence.seen.log.events;
  rank.contract = twoDrafters();
  return rank;
}

TEST(EndingTest, WhoWaitsForNobodyComesFirst) {
  EventBuilder built;
  built.add("drafter[0]", 2, "all_reduce", SyncMark{"collective_enter", 2});
  built.add("drafter[1]", 2, "backward", SyncMark{"layer_end", 1});
  reports::CaseResult result;
  result.verdict = reports::Verdict::kHung;
  result.figures.seconds = 5;
  const auto ending = endingOf({rankOf(built.build())}, result);
  ASSERT_TRUE(ending.has_value());
  ASSERT_EQ(ending->roles.size(), 2u);
  EXPECT_EQ(ending->roles[0].role, "drafter[1]");
  EXPECT_FALSE(ending->roles[0].waits);
  EXPECT_EQ(ending->roles[0].device, 7);
  EXPECT_DOUBLE_EQ(ending->roles[0].silentSeconds, 5);
  EXPECT_TRUE(ending->roles[1].waits);
}

TEST(EndingTest, AFailureBringsItsLaunchAndTheTensorsOfOtherDevices) {
  DriverCall launch = launchOf("attention_forward", 7, 400);
  launch.objectDevice = 6;
  launch.foreign = {{"block_mask.row_offsets", 6, 4096, false}};
  EventBuilder built;
  built.add("drafter[1]", 0, "drafter_forward", launch);
  built.add("drafter[0]", 0, "drafter_forward", launchOf("gemm", 6));
  built.exception("drafter[1]", "drafter_forward", "invalid handle", 400, 7);
  reports::CaseResult result;
  result.verdict = reports::Verdict::kFailed;
  const auto ending = endingOf({rankOf(built.end("failed").build())}, result);
  ASSERT_TRUE(ending.has_value());
  ASSERT_EQ(ending->failures.size(), 1u);
  EXPECT_EQ(ending->failures[0].launch, "attention_forward on device 7, loaded on device 6: CUDA_ERROR_INVALID_HANDLE");
  EXPECT_EQ(ending->failures[0].tensors[0], "block_mask.row_offsets (device 6, 4096 bytes, read)");
  EXPECT_TRUE(ending->roles.empty()) << "it ended by itself";
  result.verdict = reports::Verdict::kPassed;
  EXPECT_FALSE(endingOf({rankOf(EventBuilder().end("completed").build())}, result).has_value());
}

TEST(EndingTest, OfSeveralProcessesTheFailureThatBlamesNobodyComesFirst) {
  ExceptionSeen lost;
  lost.what = "rank 1 is gone";
  lost.rank = 1;
  EventBuilder waiting, failing;
  waiting.add("drafter[0]", 2, "all_reduce", lost);
  failing.exception("drafter[1]", "backward", "thrown here");
  std::vector<RankRecord> ranks = {rankOf(waiting.build()), rankOf(failing.build())};
  ranks[1].rank = 1;
  reports::CaseResult result;
  result.verdict = reports::Verdict::kFailed;
  const auto ending = endingOf(ranks, result);
  ASSERT_EQ(ending->failures.size(), 2u);
  EXPECT_EQ(ending->failures[0].what, "thrown here");
  EXPECT_EQ(ending->failures[0].rank, 1);
  EXPECT_EQ(ending->failures[1].blames, 1);
}

TEST(TimelinePartTest, ProcessesHaveLanesOfTheirOwnOnOneClock) {
  TraceBuilder first, second;
  first.kernel("drafter[0]", 6);
  second.kernel("drafter[1]", 7);
  second.trace.records.back().startNs += 5000;
  std::vector<RankTrace> traces;
  traces.push_back({0, first.trace, twoDrafters()});
  traces.push_back({1, second.trace, twoDrafters()});
  reports::CaseDetails details;
  addTraceParts(traces, {}, details);
  const auto lane = std::find_if(details.timeline->lanes.begin(), details.timeline->lanes.end(),
                                 [](const reports::Lane& each) { return each.device == 7; });
  ASSERT_NE(lane, details.timeline->lanes.end());
  EXPECT_EQ(lane->rank, 1);
  EXPECT_EQ(lane->gap, std::vector<std::int64_t>{5000});
}

TEST(AffinityPartTest, OfARunWithoutATraceTheEventsAreShown) {
  EventBuilder built;
  built.add("drafter[0]", 0, "", launchOf("gemm", 6)).add("drafter[0]", 0, "", launchOf("gemm", 7));
  built.add("drafter[0]", 0, "", launchOf("gemm", 7, 400));
  const reports::Affinity affinity = affinityOfEvents({rankOf(built.build())});
  EXPECT_EQ(affinity.source, "events");
  EXPECT_EQ(cellAt(affinity, "drafter[0]", 6)->kernels, 1);
  EXPECT_EQ(cellAt(affinity, "drafter[0]", 7)->kernels, 1) << "what was refused did not run";
  EXPECT_EQ(cellAt(affinity, "drafter[0]", 7)->allowed, "no");
}

TEST(EvenlySpreadTest, KeepsTheEnds) {
  EXPECT_EQ(evenlySpread(3, 5), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(evenlySpread(9, 3), (std::vector<std::size_t>{0, 4, 8}));
  EXPECT_TRUE(evenlySpread(0, 3).empty());
}

}  // namespace
}  // namespace redraft::harness
