// Each detector sees its fault, and is not taken in by the look-alike.
#include "harness/attribution.h"

#include <gtest/gtest.h>

#include "tests/harness/event_builder.h"

namespace redraft::harness {
namespace {

const std::string kFxText =
    "Detected that you are using FX to symbolically trace a dynamo-optimized function. This is not supported at the "
    "moment.";

std::vector<std::string> idsOf(const std::vector<reports::Finding>& findings) {
  std::vector<std::string> ids;
  for (const reports::Finding& each : findings) ids.push_back(each.id);
  return ids;
}

bool rulesOut(const reports::Finding& finding, const std::string& id) {
  for (const reports::RuledOut& each : finding.ruledOut)
    if (each.id == id) return true;
  return false;
}

DriverCall foreignLaunch() {
  DriverCall launch = launchOf("attention_forward", 7, 400);
  launch.objectDevice = 6;
  launch.objectContext = 106;
  return launch;
}

EventBuilder sharedHandle(std::optional<int> passed) {
  DriverCall load = launchOf("attention", 6);
  load.call = "module_load";
  EventBuilder events;
  events.cache("drafter[0]", "load", 6, 106)
      .add("drafter[0]", 0, "drafter_forward", load)
      .cache("drafter[1]", "hit", passed, 107)
      .add("drafter[1]", 0, "drafter_forward", foreignLaunch())
      .exception("drafter[1]", "drafter_forward", "invalid resource handle", 400, 7)
      .end("failed");
  return events;
}

TEST(AttributionTest, AHandleOfAnotherDeviceIsASharedHandleWhenTheCallSiteSaidWhereItIs) {
  const auto findings = attribute(sharedHandle(7).build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"kernel-cache/shared-handle"});
  const reports::Finding& finding = findings[0];
  EXPECT_EQ(finding.role, "drafter[1]");
  EXPECT_EQ(finding.device, 7);
  EXPECT_EQ(finding.signature, "kernel-cache/shared-handle|refused|drafter[1]|0|drafter_forward|400");
  EXPECT_EQ(finding.evidence, (std::vector<std::int64_t>{6, 5, 4, 7}));  // launch, look-up, load, exception
  EXPECT_TRUE(rulesOut(finding, "kernel-cache/device-not-passed"));
  EXPECT_TRUE(rulesOut(finding, "compiler/process-wide-tracing-flag"));
}

TEST(AttributionTest, TheSameIsTheHalfFixWhenTheCallSitePassesNoDevice) {
  const auto findings = attribute(sharedHandle(std::nullopt).build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"kernel-cache/device-not-passed"});
  EXPECT_TRUE(rulesOut(findings[0], "kernel-cache/shared-handle"));
}

TEST(AttributionTest, AHandleOfAnotherContextOfTheSameDeviceIsASharedHandleToo) {
  DriverCall launch = launchOf("attention_forward", 0, 400);
  launch.context = 2;
  launch.objectContext = 1;
  EventBuilder events;
  events.cache("drafter[1]", "hit", 0, 2)
      .add("drafter[1]", 0, "drafter_forward", launch)
      .exception("drafter[1]", "drafter_forward", "invalid resource handle", 400, 0)
      .end("failed");
  const auto findings = attribute(events.build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"kernel-cache/shared-handle"});
  EXPECT_NE(findings[0].title.find("loaded in context 1 of device 0 and launched in context 2 of device 0"),
            std::string::npos)
      << findings[0].title;
  EXPECT_EQ(findings[0].details.at(0),
            "one handle serves several contexts: key the cache by context, and keep one handle for each");
}

TEST(AttributionTest, ARefusedLaunchOnTheFunctionsOwnDeviceIsNotTheCaches) {
  EventBuilder events;
  events.add("drafter[1]", 0, "drafter_forward", launchOf("attention_forward", 7, 400))
      .exception("drafter[1]", "drafter_forward", "invalid resource handle", 400, 7)
      .end("failed");
  EXPECT_EQ(idsOf(attribute(events.build())), std::vector<std::string>{"exception/unattributed"});
}

TEST(AttributionTest, FxTextWhileAnotherRoleCompilesIsTheProcessWideFlag) {
  EventBuilder events;
  events.cache("drafter[0]", "compile_begin", 6, 106)
      .cache("drafter[1]", "hit", 7, 107)
      .exception("drafter[1]", "drafter_forward", kFxText)
      .cache("drafter[0]", "compile_end", 6, 106)
      .end("failed");
  const auto findings = attribute(events.build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"compiler/process-wide-tracing-flag"});
  EXPECT_EQ(findings[0].role, "drafter[1]");
  EXPECT_NE(findings[0].title.find("drafter[0] is compiling attention"), std::string::npos) << findings[0].title;
  EXPECT_EQ(findings[0].evidence, (std::vector<std::int64_t>{5, 3}));
  EXPECT_TRUE(rulesOut(findings[0], "kernel-cache/shared-handle"));
}

TEST(AttributionTest, FxTextInTheThreadThatCompilesIsAProgramThatReallyTraces) {
  EventBuilder events;
  events.cache("drafter[1]", "compile_begin", 7, 107).exception("drafter[1]", "drafter_forward", kFxText).end("failed");
  EXPECT_EQ(idsOf(attribute(events.build())), std::vector<std::string>{"exception/unattributed"});
}

TEST(AttributionTest, FxTextAfterTheCompileHasEndedIsNotTheRace) {
  EventBuilder events;
  events.cache("drafter[0]", "compile_begin", 6, 106)
      .cache("drafter[0]", "compile_end", 6, 106)
      .exception("drafter[1]", "drafter_forward", kFxText)
      .end("failed");
  EXPECT_EQ(idsOf(attribute(events.build())), std::vector<std::string>{"exception/unattributed"});
}

DriverCall maskLaunch() {
  DriverCall launch = launchOf("attention_forward", 7);
  launch.foreign = {{"block_mask.indices", 6, 512, false}};
  return launch;
}

TEST(AttributionTest, AMaskOfAnotherDeviceIsFoundWhereItIsSilent) {
  EventBuilder events;
  events.add("drafter[1]", 0, "drafter_forward", maskLaunch())
      .add("drafter[1]", 1, "drafter_forward", maskLaunch())
      .end("completed");
  const auto findings = attribute(events.build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"mask/other-device"});
  EXPECT_EQ(findings[0].signature, "mask/other-device|silent|drafter[1]|0|drafter_forward|0");
  EXPECT_EQ(findings[0].evidence, (std::vector<std::int64_t>{3, 4}));
}

TEST(AttributionTest, AMaskOfAnotherDeviceIsFoundWhereItPoisonsTheProcess) {
  DriverCall synchronize = launchOf("", 6, 700);
  synchronize.call = "synchronize";
  EventBuilder events;
  events.add("drafter[1]", 0, "drafter_forward", maskLaunch())
      .add("drafter[0]", 0, "backward", synchronize)
      .exception("drafter[0]", "backward", "an illegal memory access was encountered", 700, 6)
      .end("failed");
  const auto findings = attribute(events.build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"mask/other-device"});
  EXPECT_EQ(findings[0].role, "drafter[1]") << "the culprit, not the innocent role that saw the 700";
  EXPECT_EQ(findings[0].signature, "mask/other-device|poisoned|drafter[1]|0|drafter_forward|700");
}

TEST(AttributionTest, TwoDevicesInOneOperationOfARecomputationAreFound) {
  EventBuilder events;
  events
      .exception("drafter[1]", "recompute",
                 "Expected all tensors to be on the same device, but found sim:7 and sim:6 (when checking mm)")
      .end("failed");
  const auto findings = attribute(events.build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"recompute/other-device"});
  EXPECT_NE(findings[0].title.find("device 6 current, where the forward ran on device 7"), std::string::npos)
      << findings[0].title;
}

TEST(AttributionTest, TheSameErrorOutsideOfARecomputationIsNotTheRecomputations) {
  EventBuilder events;
  events.exception("drafter[1]", "drafter_forward", "found sim:7 and sim:6").end("failed");
  EXPECT_EQ(idsOf(attribute(events.build())), std::vector<std::string>{"exception/unattributed"});
}

TEST(AttributionTest, AnErrorOfAnotherKindInARecomputationIsUnattributed) {
  EventBuilder events;
  events.exception("drafter[1]", "recompute", "out of memory on sim:7", 2, 7).end("failed");
  EXPECT_EQ(idsOf(attribute(events.build())), std::vector<std::string>{"exception/unattributed"});
}

TEST(AttributionTest, WorkThatNoEventOrdersIsARace) {
  DriverCall race = launchOf("attention_forward", 7);
  race.call = "race";
  race.detail = "stream 3 wrote q, stream 4 reads it";
  EventBuilder events;
  events.add("drafter[1]", 1, "drafter_forward", race).end("completed");
  const auto findings = attribute(events.build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"streams/race"});
  EXPECT_EQ(findings[0].details[0], race.detail);
  EXPECT_TRUE(rulesOut(findings[0], "affinity/foreign-access"));
}

TEST(AttributionTest, AnExceptionIsShownWithoutTheStackThatLibTorchAppends) {
  EventBuilder events;
  events.exception("drafter[1]", "loss", "out of luck\n  remedy: none\nException raised from f at g.cc:1\nframe #0: h")
      .end("failed");
  const auto findings = attribute(events.build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"exception/unattributed"});
  EXPECT_EQ(findings[0].title, "c10::Error: out of luck");
  EXPECT_EQ(findings[0].details, std::vector<std::string>{"remedy: none"});
}

DriverCall copyOf(int from, int to) {
  DriverCall copy = launchOf("", from);
  copy.call = "copy";
  copy.from = from;
  copy.to = to;
  copy.bytes = 64;
  return copy;
}

TEST(AttributionTest, ACopyOverAnEdgeOutsideTheTopologyIsForeignAccess) {
  EventBuilder events;
  events.add("drafter[1]", 0, "hand_off", copyOf(7, 0)).end("completed");
  EXPECT_EQ(idsOf(attribute(events.build())), std::vector<std::string>{"affinity/foreign-access"});
}

TEST(AttributionTest, CopiesOverAllowedEdgesAndWithTheHostAreNot) {
  EventBuilder events;
  events.add("drafter[1]", 0, "hand_off", copyOf(0, 7))
      .add("drafter[1]", 0, "hand_off", copyOf(-1, 7))
      .add("drafter[1]", 0, "hand_off", copyOf(7, 7))
      .end("completed");
  EXPECT_TRUE(attribute(events.build()).empty());
}

TEST(AttributionTest, ReplicasThatDifferAreFoundWhateverTheRunnerSays) {
  EventBuilder events;
  events.add("drafter[0]", 4, "optimizer", ReplicaCheck{true, {{"drafter[0]", "a"}, {"drafter[1]", "b"}}})
      .end("completed");
  const auto findings = attribute(events.build());
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"replicas/drift"});
  EXPECT_EQ(findings[0].step, 4);
}

TEST(AttributionTest, EqualReplicasAreNot) {
  EventBuilder events;
  events.add("drafter[0]", 4, "optimizer", ReplicaCheck{true, {{"drafter[0]", "a"}, {"drafter[1]", "a"}}})
      .end("completed");
  EXPECT_TRUE(attribute(events.build()).empty());
}

TEST(AttributionTest, MemoryOnADeviceThatARoleMayNotCopyToIsStray) {
  EventBuilder events;
  Evidence evidence = events.end("completed").build();
  evidence.memory.emplace();
  evidence.memory->roles = {{"drafter[1]", {{"7", 100}, {"6", 10}}}};
  EXPECT_TRUE(attribute(evidence).empty());
  evidence.memory->roles["drafter[1]"]["0"] = 64;
  const auto findings = attribute(evidence);
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"memory/stray-allocation"});
  EXPECT_EQ(findings[0].device, 0);
}

TEST(AttributionTest, AHangNamesTheRoleThatStandsStillLongest) {
  EventBuilder events;
  events.add("drafter[0]", 3, "drafter_forward", SyncMark{"kernel_launch", 6})
      .add("drafter[1]", 3, "backward", SyncMark{"kernel_launch", 9});
  Evidence evidence = events.build();
  evidence.seen.stop = Stop::kNoProgress;
  const auto findings = attribute(evidence);
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"hang/no-progress"});
  EXPECT_EQ(findings[0].role, "drafter[0]");
  EXPECT_EQ(findings[0].details.size(), 2u);
}

TEST(AttributionTest, AHangNamesTheRoleThatWaitsForNobodyBeforeThoseThatWaitForIt) {
  EventBuilder events;
  events.add("target[0]", 2, "target_forward", SyncMark{"queue_push", 9})
      .add("target[1]", 2, "target_forward", SyncMark{"queue_push", 8})
      .add("target[1]", 2, "", RoleEnd{1})
      .add("drafter[0]", 2, "backward", SyncMark{"kernel_launch", 6})
      .add("drafter[1]", 2, "all_reduce", SyncMark{"collective_enter", 2});
  Evidence evidence = events.build();
  evidence.seen.stop = Stop::kNoProgress;
  evidence.stacks = {{"target[0]", 1, false, {"stack of target[0]"}},
                     {"drafter[0]", 61, false, {"stack of drafter[0]"}},
                     {"redraft-runner", 2, true, {"ended by SIGABRT"}}};
  const auto findings = attribute(evidence);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].signature, "hang/no-progress|hang|drafter[0]|2|backward|0");
  EXPECT_EQ(findings[0].details.back(), "stack of drafter[0]");
  ASSERT_EQ(findings[0].details.size(), 4u) << "a role that has ended stands still rightly";
  EXPECT_EQ(findings[0].details[1].find("target[0]: queue_push 9 in step 2"), 0u) << findings[0].details[1];
}

/// EventBuilder numbers the threads: drafter[1]'s is 71.
Evidence crashAt(std::int64_t thread) {
  EventBuilder events;
  events.add("drafter[1]", 2, "", SyncMark{"step_begin", 2})
      .add("drafter[1]", 2, "backward", launchOf("attention_backward", 7), 72)
      .add("target[0]", 3, "", SyncMark{"queue_push", 13});
  Evidence evidence = events.build();
  evidence.seen.end = {true, 11};
  evidence.stacks = {{"some name", thread, true, {"ended by SIGSEGV", "overflow()", "main()"}}};
  return evidence;
}

TEST(AttributionTest, ACrashIsPlacedAtTheNewestEventOfItsThread) {
  const auto findings = attribute(crashAt(71));
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"crash/signal"});
  EXPECT_EQ(findings[0].signature, "crash/signal|signal 11 (SIGSEGV)|drafter[1]|2||11");
  EXPECT_EQ(findings[0].details, crashAt(71).stacks[0].lines);
  // A thread of autograd, at work for that role.
  EXPECT_EQ(attribute(crashAt(72))[0].signature, "crash/signal|signal 11 (SIGSEGV)|drafter[1]|2|backward|11");
}

TEST(AttributionTest, ACrashElsewhereIsShownAtTheNewestMarkAndSignedWithoutPlace) {
  const auto findings = attribute(crashAt(99));
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"crash/signal"});
  EXPECT_EQ(findings[0].role, "target[0]");
  EXPECT_EQ(findings[0].signature, "crash/signal|signal 11 (SIGSEGV)||-1||11");
}

TEST(AttributionTest, ACrashWithoutAStackShowsTheLastWordsOfTheRunner) {
  EventBuilder events;
  Evidence evidence = events.build();
  evidence.seen.end = {true, 9};
  evidence.logTail = {"the last words"};
  const auto findings = attribute(evidence);
  ASSERT_EQ(idsOf(findings), std::vector<std::string>{"crash/signal"});
  EXPECT_EQ(findings[0].details, evidence.logTail);
}

TEST(TopologyOfRunTest, IsInTermsOfTheDevicesThatTheEventsName) {
  devices::Topology planned;
  planned.deviceCount = 8;
  planned.roles = {{"drafter[0]", 6}, {"drafter[1]", 7}, {"target[0]", 0}};
  planned.copyEdges = {{0, 6}, {0, 7}};
  RunBegin begin;
  std::vector<Event> events(1);
  events[0].body = begin;
  EXPECT_EQ(topologyOfRun(planned, events).copyEdges, planned.copyEdges);
  begin.placement = {0, 1, 0, 1, 0, 1, 0, 1};
  events[0].body = begin;
  const devices::Topology placed = topologyOfRun(planned, events);
  EXPECT_EQ(placed.deviceOf("drafter[1]"), 1);
  EXPECT_TRUE(placed.allowsCopy(0, 1));
  EXPECT_FALSE(placed.allowsCopy(1, 0));
  begin.placement = {0};
  events[0].body = begin;
  EXPECT_THROW(topologyOfRun(planned, events), Error);
  EXPECT_EQ(topologyOfRun(planned, {}).copyEdges, planned.copyEdges);
}

TEST(TopologyOfRunTest, ThePlacementTravelsInTheRecord) {
  RunBegin begin;
  EXPECT_FALSE(recordToJson(begin).contains("placement"));
  begin.placement = {0, 0};
  EXPECT_EQ(recordFromJson<RunBegin>(recordToJson(begin), "event").placement, (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace redraft::harness
