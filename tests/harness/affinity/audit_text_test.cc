// Pins what `redraft audit` prints, for people and for machines.
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/harness/affinity/trace_builder.h"
#include "tests/paths.h"

namespace redraft::harness {
namespace {

using testing_support::TraceBuilder;
using testing_support::twoRoles;

/// Six findings of one check, what a foreign trace cannot tell, and a launch without its work.
TraceAudit pinnedAudit() {
  TraceBuilder built;
  built.foreign();
  built.kernel("target", 0);
  for (int i = 0; i < 6; ++i) built.kernel("drafter", 1, 9);
  built.call("cudaLaunchKernel", "drafter", 11).step = 4;
  built.trace.files[0].events = built.trace.records.size();
  const Contract contract = twoRoles();
  return auditTrace(built.trace, &contract);
}

std::string expected(const std::string& name) {
  return readFile(std::string(kSourceFolder) + "/tests/harness/affinity/expected/" + name);
}

TEST(AuditTextTest, IsATableForPeople) { EXPECT_EQ(auditText(pinnedAudit()), expected("audit.txt")); }

TEST(AuditTextTest, IsADocumentForMachines) { EXPECT_EQ(pretty(recordToJson(pinnedAudit())), expected("audit.json")); }

TEST(AuditTextTest, NamesRecordsOfACompactTraceByNumber) {
  TraceBuilder built;
  built.trace.files[0].path = "run.rdtrace";
  built.kernel("drafter", 0).place = 7;
  const Contract contract = twoRoles();
  EXPECT_NE(auditText(auditTrace(built.trace, &contract)).find("run.rdtrace: record 7, kernel"), std::string::npos);
}

}  // namespace
}  // namespace redraft::harness
