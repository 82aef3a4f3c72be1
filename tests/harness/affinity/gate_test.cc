// Silence means something only when the trace is whole.
#include <gtest/gtest.h>

#include <functional>

#include "tests/harness/affinity/trace_builder.h"

namespace redraft::harness {
namespace {

using testing_support::checkOf;
using testing_support::TraceBuilder;
using testing_support::twoRoles;

TEST(CoverageGateTest, FindsEachHole) {
  const struct {
    const char* id;
    std::function<void(TraceBuilder&)> spoil;
    const char* part;
  } cases[] = {
      {"G1", [](TraceBuilder& built) { built.trace.files[0].capture.dropped = 3; }, "3 records were lost"},
      {"G2", [](TraceBuilder& built) { built.trace.records[1].startNs = built.trace.records[1].durationNs = 0; },
       "was not timed"},
      {"G2", [](TraceBuilder& built) { built.trace.records[1].context = -1; }, "has no context"},
      {"G3", [](TraceBuilder& built) { built.call("cudaLaunchKernel", "target", 10); }, "no device work"},
      {"G4", [](TraceBuilder& built) { built.trace.records[1].correlation = 999; },
       "no API call has its correlation 999"},
      {"G5", [](TraceBuilder& built) { built.call("cudaLaunchKernel", "target", 10).correlation = 1; },
       "another call has its correlation 1"},
      {"G6", [](TraceBuilder& built) { built.trace.records[1].startNs -= 1500; }, "500 ns before its call"},
  };
  for (const auto& [id, spoil, part] : cases) {
    TraceBuilder built;
    built.kernel("target", 0);
    EXPECT_EQ(checkOf(built, id).state, AuditState::kClean) << id;
    spoil(built);
    const TraceCheck check = checkOf(built, id);
    ASSERT_EQ(check.state, AuditState::kFound) << id;
    EXPECT_NE(check.violations.front().message.find(part), std::string::npos) << check.violations.front().message;
  }
}

TEST(CoverageGateTest, LeavesNoCheckCleanInATraceWithAHole) {
  TraceBuilder built;
  built.kernel("target", 0);
  built.kernel("drafter", 0);
  built.trace.files[0].capture.dropped = 1;
  const Contract contract = twoRoles();
  const TraceAudit audit = auditTrace(built.trace, &contract);
  EXPECT_EQ(checkOf(audit, "A1").state, AuditState::kFound);  // what was seen was seen
  for (const TraceCheck& check : audit.checks) EXPECT_NE(check.state, AuditState::kClean) << check.id;
  EXPECT_EQ(checkOf(audit, "A9").reason, "nothing was found, but the trace is not whole (G1 dropped)");
}

TEST(CoverageGateTest, AsksForEveryCanary) {
  TraceBuilder built;
  built.trace.files[0].capture.canaries = {"peer_copy", "A1", "A6"};
  const TraceCheck check = checkOf(built, "G7");
  EXPECT_EQ(check.state, AuditState::kNotComputable);
  EXPECT_EQ(check.reason, "the capture did not plant A3");
}

TEST(CoverageGateTest, TakesOneCallOfTheRuntimeAndOneOfTheDriverForOne) {
  TraceBuilder built;
  built.kernel("target", 0);
  TraceRecord& driver = built.call("cuLaunchKernel", "target", 10);
  driver.correlation = 1;
  driver.flags = kDriverApi;
  EXPECT_EQ(checkOf(built, "G5").state, AuditState::kClean);
}

}  // namespace
}  // namespace redraft::harness
