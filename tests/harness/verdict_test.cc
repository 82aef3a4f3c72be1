// From a child's behaviour to a verdict, over real children.
#include <gtest/gtest.h>

#include "golden/golden.h"
#include "harness/case_runner.h"
#include "tests/harness/fake_case.h"

namespace redraft::harness {
namespace {

using reports::CaseResult;
using reports::Verdict;

CaseResult resultOf(const std::vector<std::string>& script) {
  const TemporaryFolder folder;
  return runFake(folder, fakePlan(script));
}

void expectError(const CaseResult& result, const std::string& reason) {
  EXPECT_EQ(result.verdict, Verdict::kError) << enumName(result.verdict);
  EXPECT_NE(result.reason.find(reason), std::string::npos) << result.reason;
}

TEST(VerdictTest, AWholeRunWithNothingFoundPasses) {
  const CaseResult result = resultOf({"begin", "train", "files", "end completed"});
  EXPECT_EQ(result.verdict, Verdict::kPassed) << result.reason;
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.figures.steps, 3);
  EXPECT_EQ(result.ended, "exited 0");
  EXPECT_NE(result.digest, "");
}

TEST(VerdictTest, ARunWithoutItsEndRecordNeverPasses) {
  for (const char* last : {"exit 0", "signal 11", "exit 5"}) {
    const CaseResult result = resultOf({"begin", "train", "files", last});
    EXPECT_EQ(result.verdict, Verdict::kCrashed) << last;
    ASSERT_FALSE(result.findings.empty());
    EXPECT_EQ(result.findings[0].id, std::string(last) == "signal 11" ? "crash/signal" : "crash/exit");
  }
}

TEST(VerdictTest, ACrashAfterTheEndRecordIsACrash) {
  EXPECT_EQ(resultOf({"begin", "train", "files", "end completed", "signal 11"}).verdict, Verdict::kCrashed);
  EXPECT_EQ(resultOf({"begin", "train", "files", "end completed", "exit 1"}).verdict, Verdict::kCrashed);
}

TEST(VerdictTest, ABrokenEventLogNeverPasses) {
  expectError(resultOf({"begin", "train", "files", "end completed", "torn"}), "torn");
  expectError(resultOf({"begin", "train", "files", "gap", "end completed"}), "event 99");
  expectError(resultOf({"begin", "gap", "hang"}), "event 99");
  expectError(resultOf({"begin redraft.events/2", "train", "files", "end completed"}), "redraft.events/2");
  EXPECT_EQ(resultOf({"begin", "torn", "signal 9"}).verdict, Verdict::kCrashed);
  EXPECT_EQ(resultOf({}).verdict, Verdict::kCrashed);
}

TEST(VerdictTest, AMissingOrWrongRecordNeverPasses) {
  expectError(resultOf({"begin", "train", "digests", "memory", "end completed"}), "metrics.jsonl");
  expectError(resultOf({"begin", "train", "metrics", "memory", "end completed"}), "digests.bin");
  expectError(resultOf({"begin", "train", "metrics", "digests", "end completed"}), "memory.json");
  expectError(resultOf({"begin", "train", "metrics redraft.metrics/2", "digests", "memory", "end completed"}),
              "redraft.metrics/2");
}

TEST(TraceVerdictTest, ACleanTraceIsAuditedAndSaysWhatItCannotTell) {
  const CaseResult result = resultOf({"begin", "train", "files", "end completed"});
  ASSERT_TRUE(result.audit);
  EXPECT_EQ(result.audit->outcome, reports::AuditOutcome::kClean);
  EXPECT_EQ(result.audit->clean, (std::vector<std::string>{"A1", "A9", "A10", "A14"}));
  EXPECT_EQ(result.audit->clean.size() + result.audit->notComputable.size(), 14u);
  for (const reports::NotComputable& check : result.audit->notComputable) EXPECT_NE(check.reason, "") << check.id;
}

TEST(TraceVerdictTest, AViolationFailsARunWhoseEventsShowNothing) {
  for (const auto& [flaw, id] :
       {std::pair{"trace wait", "affinity/host-sync"}, {"trace device", "affinity/wrong-device"}}) {
    const CaseResult result = resultOf({"begin", "train", "files", flaw, "end completed"});
    EXPECT_EQ(result.verdict, Verdict::kFailed) << flaw;
    ASSERT_EQ(result.findings.size(), 1u) << flaw;
    const reports::Finding& finding = result.findings.front();
    EXPECT_EQ(finding.id, id);
    EXPECT_EQ(finding.signature, std::string(id) + "|trace|drafter[0]|2||0");
    ASSERT_EQ(finding.proofs.size(), 1u);
    EXPECT_EQ(finding.proofs.front().record.find("trace/run.rdtrace: record 5, "), 0u) << finding.proofs.front().record;
    EXPECT_EQ(result.audit->outcome, reports::AuditOutcome::kFound);
  }
}

TEST(TraceVerdictTest, AnAuditWhoseSilenceMeansNothingDoesNotPass) {
  for (const auto& [flaw, reason] : {std::pair{"trace lost", "G1 dropped: 3 records were lost"},
                                     {"trace launch", "G3 launches-have-work"},
                                     {"trace broken", "it cannot be read"}}) {
    const CaseResult result = resultOf({"begin", "train", "files", flaw, "end completed"});
    expectError(result, std::string("the audit of its trace is invalid: ") + reason);
    EXPECT_EQ(result.audit->outcome, reports::AuditOutcome::kInvalid) << flaw;
    EXPECT_TRUE(result.audit->clean.empty()) << flaw;
  }
  expectError(resultOf({"begin", "train", "metrics", "digests", "memory", "end completed"}), "the run left no trace");
}

TEST(TraceVerdictTest, ARunThatSaidThatItRecordsNoTraceIsJudgedByItsEventsAndSaysSo) {
  const CaseResult result = resultOf({"begin untraced", "train", "metrics", "digests", "memory", "end completed"});
  EXPECT_EQ(result.verdict, Verdict::kPassed) << result.reason;
  EXPECT_EQ(result.audit->outcome, reports::AuditOutcome::kAbsent);
  EXPECT_EQ(result.audit->reason, "the run was told to record none");
}

TEST(TraceVerdictTest, ARunThatEndsForAnotherReasonKeepsItsCauseAndItsVerdict) {
  const CaseResult crashed = resultOf({"begin", "train", "signal 11"});
  EXPECT_EQ(crashed.verdict, Verdict::kCrashed);
  EXPECT_EQ(crashed.audit->outcome, reports::AuditOutcome::kAbsent);
  const CaseResult failed =
      resultOf({"begin", "train", "files", "trace device", "exception out of luck", "end failed"});
  EXPECT_EQ(failed.verdict, Verdict::kFailed);
  ASSERT_EQ(failed.findings.size(), 2u);
  EXPECT_EQ(failed.findings[0].id, "exception/unattributed");
  EXPECT_EQ(failed.findings[1].id, "affinity/wrong-device");
}

TEST(VerdictTest, ARunThatStopsEarlyAndSaysItCompletedDoesNotPass) {
  expectError(resultOf({"begin", "steps 2", "train", "files", "end completed"}), "2 steps of 3");
}

TEST(VerdictTest, ARunThatFailsForAReasonFails) {
  const CaseResult result = resultOf({"begin", "exception out of luck", "end failed"});
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].id, "exception/unattributed");
  EXPECT_EQ(result.findings[0].signature, "exception/unattributed|exception|drafter[1]|1|drafter_forward|0");
}

TEST(VerdictTest, ARunThatFailsForNoReasonIsAnError) { expectError(resultOf({"begin", "end failed"}), "no reason"); }

TEST(VerdictTest, AScenarioThatThisMachineCannotExpressIsSkippedWithTheReason) {
  const CaseResult result = resultOf({"say redraft: error: needs 2 GPUs: a and b share GPU 0", "exit 4"});
  EXPECT_EQ(result.verdict, Verdict::kSkipped) << enumName(result.verdict);
  EXPECT_EQ(result.reason, "needs 2 GPUs: a and b share GPU 0");
  EXPECT_TRUE(result.findings.empty());
  EXPECT_FALSE(result.asExpected());
}

TEST(VerdictTest, ARunThatBeganIsNeverSkipped) {
  expectError(resultOf({"begin", "train", "files", "say needs 2 GPUs", "exit 4"}), "needs 2 GPUs");
}

TEST(VerdictTest, ARefusalOfTheRunnerIsAnErrorWithItsWords) {
  expectError(resultOf({"say scenario.resolved.json:3: no such fault", "exit 2"}), "no such fault");
  expectError(resultOf({"say no memory", "exit 3"}), "the environment");
}

TEST(VerdictTest, AHangIsHungWithTheLastSyncPointOfEveryRole) {
  const TemporaryFolder folder;
  CasePlan plan = fakePlan({"begin", "train", "hang"});
  plan.hangSeconds = 0.2;
  const CaseResult result = runFake(folder, plan);
  EXPECT_EQ(result.verdict, Verdict::kHung);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].id, "hang/no-progress");
  EXPECT_EQ(result.findings[0].role, "drafter[0]");
  ASSERT_FALSE(result.findings[0].details.empty());
  EXPECT_EQ(result.findings[0].details[0].find("drafter[0]: step_begin 2 in step 2"), 0u)
      << result.findings[0].details[0];
}

TEST(VerdictTest, AHangShowsTheStackOfTheRoleThatStandsStill) {
  const TemporaryFolder folder;
  CasePlan plan = fakePlan({"answer drafter[0]", "begin", "train", "hang"});
  plan.hangSeconds = 0.2;
  const CaseResult result = runFake(folder, plan);
  EXPECT_EQ(result.verdict, Verdict::kHung);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].details.back(), "waitForever()");
  EXPECT_NE(result.ended.find("SIGABRT"), std::string::npos) << result.ended;
}

TEST(VerdictTest, MissingDataIsAnErrorOfTheCaseAndStartsNoChild) {
  const TemporaryFolder folder;
  CasePlan plan = fakePlan({"begin"});
  plan.links = {{"/nonexistent/corpus.txt", "data/corpus.txt"}};
  const CaseResult result = runFake(folder, plan);
  expectError(result, "/nonexistent/corpus.txt");
  EXPECT_EQ(result.ended, "");
}

class GoldenVerdictTest : public ::testing::Test {
 protected:
  CaseResult run(const std::vector<std::string>& script, const std::string& folder) {
    CasePlan plan = fakePlan(script, "g");
    plan.golden = "g";
    if (script.back() == "hang") plan.hangSeconds = 0.2;
    return runFake(folder_, plan, goldens(), folder);
  }
  std::string goldens() const { return folder_.path() + "/goldens"; }
  void bless(const std::string& run) {
    makeDirectories(goldens());
    golden::Provenance provenance;
    provenance.reason = "a test";
    golden::bless(golden::loadRun(folder_.path() + "/" + run), goldens(), "g", provenance);
  }

  const std::vector<std::string> good_ = {"begin", "train", "files", "end completed"};
  TemporaryFolder folder_;
};

TEST_F(GoldenVerdictTest, WithoutAGoldenACleanRunIsIncomparable) {
  const CaseResult result = run(good_, "a");
  EXPECT_EQ(result.verdict, Verdict::kIncomparable);
  EXPECT_NE(result.reason.find("no golden of g"), std::string::npos) << result.reason;
}

TEST_F(GoldenVerdictTest, ARunThatEqualsItsGoldenPasses) {
  run(good_, "a");
  bless("a");
  const CaseResult result = run(good_, "b");
  EXPECT_EQ(result.verdict, Verdict::kPassed) << result.reason;
  EXPECT_NE(result.golden.find("equal bit for bit"), std::string::npos);
}

TEST_F(GoldenVerdictTest, ARunThatLeavesItsGoldenFailsAndNamesTheStep) {
  run(good_, "a");
  bless("a");
  const CaseResult result = run({"begin", "train", "loss 2.75", "files", "end completed"}, "b");
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].id, "numerics/golden-mismatch");
  EXPECT_EQ(result.findings[0].step, 0);
  EXPECT_FALSE(result.findings[0].details.empty());
}

TEST_F(GoldenVerdictTest, ARunThatWasCutShortHasItsCauseAloneAsFinding) {
  run(good_, "a");
  bless("a");
  struct Short {
    std::vector<std::string> ending;
    Verdict verdict;
    std::string finding;
  };
  int number = 0;
  for (const auto& [ending, verdict, finding] :
       {Short{{"exception out of luck", "end failed"}, Verdict::kFailed, "exception/unattributed"},
        Short{{"signal 11"}, Verdict::kCrashed, "crash/signal"},
        Short{{"end completed", "signal 11"}, Verdict::kCrashed, "crash/signal"},
        Short{{"hang"}, Verdict::kHung, "hang/no-progress"}}) {
    std::vector<std::string> script = {"begin", "steps 2", "train", "files"};
    script.insert(script.end(), ending.begin(), ending.end());
    const CaseResult result = run(script, "short" + std::to_string(number++));
    EXPECT_EQ(result.verdict, verdict) << ending.front() << ": " << enumName(result.verdict);
    ASSERT_EQ(result.findings.size(), 1u) << ending.front();
    EXPECT_EQ(result.findings[0].id, finding);
    EXPECT_EQ(result.golden, "") << "nothing is said of a golden that was not looked at";
  }
}

TEST_F(GoldenVerdictTest, ARunThatSaysItCompletedAndIsShortOfStepsIsAnError) {
  run(good_, "a");
  bless("a");
  expectError(run({"begin", "steps 2", "train", "files", "end completed"}, "b"), "2 steps of 3");
}

TEST_F(GoldenVerdictTest, ABrokenGoldenIsNoPass) {
  run(good_, "a");
  bless("a");
  const golden::Record record = golden::loadRun(folder_.path() + "/a");
  writeFileAtomically(golden::numericsPath(goldens(), "g", record.numericsClass), "{");
  const CaseResult result = run(good_, "b");
  EXPECT_EQ(result.verdict, Verdict::kIncomparable);
  EXPECT_NE(result.reason.find("cannot be read"), std::string::npos) << result.reason;
}

}  // namespace
}  // namespace redraft::harness
