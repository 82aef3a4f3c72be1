// What the trace's audit adds to what the events show.
#include "harness/run_trace.h"

#include <gtest/gtest.h>

#include "harness/attribution.h"
#include "tests/harness/event_builder.h"

namespace redraft::harness {
namespace {

/// Checks of these states, the second of them with its violations.
TraceCheck checkOf(const std::string& id, const std::string& name, AuditState state, std::int64_t count = 0) {
  TraceCheck check;
  check.id = id;
  check.name = name;
  check.state = state;
  check.count = count;
  if (state == AuditState::kNotComputable) check.reason = "there is too little of it";
  for (std::int64_t i = 0; i < count; ++i) {
    Violation& violation = check.violations.emplace_back();
    violation.message = "wait " + std::to_string(i + 2) + " of 1 allowed";
    violation.file = "trace/run.rdtrace";
    violation.event = violation.place = static_cast<std::uint64_t>(40 + i);
    violation.kind = "api";
    violation.name = "cuCtxSynchronize";
    violation.device = 7;
    violation.step = 3 + i;
    violation.role = "drafter[1]";
  }
  return check;
}

std::vector<reports::Finding> attributed(Evidence evidence, std::vector<TraceCheck> checks,
                                         std::vector<RefusedCall> refused = {}) {
  evidence.trace.absent = false;
  evidence.trace.audit.emplace().checks = std::move(checks);
  evidence.trace.refused = std::move(refused);
  return attribute(evidence);
}

/// A launch of another device's function that the driver refused in `drafter[1]`, step 0.
Evidence refusedLaunch() {
  DriverCall launch = launchOf("attention", 7, 400);
  launch.objectDevice = 6;
  launch.objectContext = 106;
  EventBuilder built;
  built.cache("drafter[1]", "lookup", 7, 107).add("drafter[1]", 0, "drafter_forward", launch);
  return built.end("failed").build();
}

TEST(RunTraceTest, AViolationIsAFindingOfItsOwnWithTheRecordsThatProveIt) {
  const auto findings =
      attributed(EventBuilder().end("completed").build(), {checkOf("A9", "host-sync", AuditState::kFound, 2)});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "affinity/host-sync");
  EXPECT_EQ(findings[0].role, "drafter[1]");
  EXPECT_EQ(findings[0].step, 3);
  EXPECT_EQ(findings[0].device, 7);
  ASSERT_EQ(findings[0].proofs.size(), 2u);
  EXPECT_EQ(findings[0].proofs[1].check, "A9");
  EXPECT_EQ(findings[0].proofs[1].record.find("trace/run.rdtrace: record 41"), 0u) << findings[0].proofs[1].record;
  EXPECT_EQ(findings[0].signature, "affinity/host-sync|trace|drafter[1]|3||0");
}

TEST(RunTraceTest, AStrayContextIsSaidWithWhatItsProcessHolds) {
  TraceCheck stray = checkOf("A6", "stray-context", AuditState::kFound, 1);
  stray.violations.front().device = 0;
  Evidence evidence = EventBuilder().end("completed").build();
  evidence.memory.emplace().processes = {{4711, "GPU-a", 0, 514 << 20}, {4711, "GPU-b", 1, 3 << 20}};
  const auto findings = attributed(std::move(evidence), {stray});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].details, std::vector<std::string>{"process 4711 holds 514 MiB on GPU GPU-a"});
}

TEST(RunTraceTest, TheContractOfAProcessIsThatOfItsOwnRoles) {
  Contract planned;
  planned.roles["drafter[0]"].devices = {0};
  planned.roles["drafter[1]"].devices = {1};
  const auto rolesUnder = [&](std::vector<std::string> own) {
    RunBegin begin;
    begin.roles = std::move(own);
    std::vector<std::string> roles;
    for (const auto& [role, of] : contractOfRun(planned, {Event{{}, begin}}).roles) roles.push_back(role);
    return roles;
  };
  EXPECT_EQ(rolesUnder({"drafter[1]"}), std::vector<std::string>{"drafter[1]"});
  EXPECT_EQ(rolesUnder({}), (std::vector<std::string>{"drafter[0]", "drafter[1]"}));
}

TEST(RunTraceTest, WhatIsCleanOrCannotBeToldIsNoFinding) {
  EXPECT_TRUE(
      attributed(EventBuilder().end("completed").build(), {checkOf("A1", "wrong-device", AuditState::kClean),
                                                           checkOf("A2", "wrong-stream", AuditState::kNotComputable)})
          .empty());
}

TEST(RunTraceTest, TheEventsNameTheCauseAndTheTraceAgrees) {
  const auto findings =
      attributed(refusedLaunch(), {checkOf("A9", "host-sync", AuditState::kFound, 1)},
                 {{"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "drafter[1]", 0, "record 6"},
                  {"CUDA_ERROR_INVALID_HANDLE", "drafter[1]", 0, "record 7, refused cuLaunchKernel"}});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].id, "kernel-cache/shared-handle");
  EXPECT_EQ(findings[0].details.back(), "the trace agrees: record 7, refused cuLaunchKernel");
  EXPECT_EQ(findings[1].id, "affinity/host-sync");
}

TEST(RunTraceTest, ATraceWithoutTheRefusalContradictsAndABrokenOneCannotTell) {
  const std::vector<RefusedCall> ofAnother = {{"CUDA_ERROR_INVALID_HANDLE", "drafter[0]", 0, "record 7"}};
  const auto contradicted = attributed(refusedLaunch(), {}, ofAnother);
  EXPECT_EQ(contradicted.front().details.back(),
            "the trace contradicts it: in step 0 no call of drafter[1] was refused with CUDA_ERROR_INVALID_HANDLE");
  Evidence broken = refusedLaunch();
  broken.trace.problem = "G1 dropped: 3 records were lost";
  EXPECT_EQ(attributed(broken, {}).front().details.back(), "the trace cannot tell: G1 dropped: 3 records were lost");
}

TEST(RunTraceTest, ARaceOfTheEventsIsHeldAgainstTheMissingWaitOfTheTrace) {
  DriverCall race;
  race.call = "race";
  race.name = "copy";
  race.detail = "two sides";
  const Evidence evidence = EventBuilder().add("drafter[1]", 3, "drafter_forward", race).end("completed").build();
  const std::map<AuditState, std::string> said = {
      {AuditState::kFound, "the trace agrees: A8 missing-wait (1)"},
      {AuditState::kClean, "the trace contradicts it: A8 missing-wait is clean"},
      {AuditState::kNotComputable, "the trace cannot tell: A8 missing-wait: there is too little of it"}};
  for (const auto& [state, text] : said) {
    TraceCheck check = checkOf("A8", "missing-wait", state, state == AuditState::kFound ? 1 : 0);
    for (Violation& violation : check.violations) violation.kind = "race";
    const auto findings = attributed(evidence, {check});
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings[0].id, "streams/race");
    EXPECT_EQ(findings[0].details.back(), text);
  }
}

TEST(RunTraceTest, AHandOffThatIsNotWaitedForIsNamedBeforeTheRacesThatComeOfIt) {
  DriverCall race;
  race.call = "race";
  race.name = "copy";
  const Evidence evidence = EventBuilder().add("drafter[1]", 3, "drafter_forward", race).end("completed").build();
  TraceCheck check = checkOf("A8", "missing-wait", AuditState::kFound, 1);
  for (const char* kind : {"peer_copy", "race"}) {
    check.violations[0].kind = kind;
    const auto findings = attributed(evidence, {check});
    ASSERT_EQ(findings.size(), 2u);
    const bool declared = kind == std::string("peer_copy");
    EXPECT_EQ(findings[declared ? 0 : 1].id, "affinity/missing-wait");
    EXPECT_EQ(findings[declared ? 1 : 0].id, "streams/race");
  }
}

TEST(RunTraceTest, WithoutATraceNothingIsSaidOfIt) {
  const auto findings = attribute(refusedLaunch());
  ASSERT_EQ(findings.size(), 1u);
  for (const std::string& line : findings[0].details) EXPECT_EQ(line.find("the trace"), std::string::npos) << line;
}

TEST(RunTraceTest, OfSeveralProcessesWhatOneFoundIsFoundAndWhatAllShowIsClean) {
  const auto traceOf = [](std::vector<TraceCheck> checks) {
    RunTrace trace;
    trace.absent = false;
    trace.audit.emplace().checks = std::move(checks);
    return trace;
  };
  std::map<int, RunTrace> ranks;
  ranks[0] = traceOf({checkOf("A1", "wrong-device", AuditState::kClean), checkOf("A9", "host-sync", AuditState::kClean),
                      checkOf("A2", "wrong-stream", AuditState::kNotComputable)});
  ranks[1] =
      traceOf({checkOf("A1", "wrong-device", AuditState::kClean), checkOf("A9", "host-sync", AuditState::kFound, 1),
               checkOf("A2", "wrong-stream", AuditState::kNotComputable)});
  EXPECT_EQ(problemOf(ranks), "");
  EXPECT_EQ(reports::auditLine(summaryOf(ranks)), "found A9 host-sync (1) on rank 1; clean A1; not computable A2");
  ranks[1].problem = "G1 dropped: 3 records were lost";
  EXPECT_EQ(summaryOf(ranks).outcome, reports::AuditOutcome::kInvalid);
  EXPECT_EQ(problemOf(ranks), "rank 1: G1 dropped: 3 records were lost");
}

TEST(RunTraceTest, TheGateHoldsWhenAllButTheCanariesCanBeShown) {
  TraceAudit audit;
  audit.gate = {checkOf("G1", "dropped", AuditState::kClean), checkOf("G7", "canaries", AuditState::kNotComputable)};
  EXPECT_EQ(gateProblem(audit), "");
  audit.gate[0] = checkOf("G1", "dropped", AuditState::kNotComputable);
  EXPECT_EQ(gateProblem(audit), "G1 dropped cannot be told: there is too little of it");
  audit.gate[0] = checkOf("G1", "dropped", AuditState::kFound, 1);
  EXPECT_EQ(gateProblem(audit).find("G1 dropped: "), 0u);
}

}  // namespace
}  // namespace redraft::harness
