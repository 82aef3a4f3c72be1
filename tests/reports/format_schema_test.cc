// The formats against schemas, by validators of others: jsonschema (Python) and xmllint. The schemas beside this file
// are our own, of the parts that we write; with REDRAFT_FORMAT_SCHEMAS the published ones are used as well.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "reports/known_failures.h"
#include "reports/printers.h"
#include "tests/paths.h"
#include "tests/reports/sample_suite.h"
#include "tests/support/command_output.h"
#include "tests/support/temp_folder.h"

namespace redraft::reports {
namespace {

using testing_support::outputOf;
using testing_support::pythonWith;
using testing_support::TempFolder;

const std::string kOwnSchemas = std::string(kSourceFolder) + "/tests/reports/schemas";
const std::string kValidator = std::string(kSourceFolder) + "/tests/reports/validate_json.py";

/// One case of each kind: passed, caught, missed, crashed, known, skipped, in error; entries that expired and are
/// stale; texts that have to be escaped in some format.
SuiteResult everyKind() {
  SuiteResult suite = sampleSuite();
  const CaseResult passed = suite.cases[0], caught = suite.cases[1];
  const auto add = [&](CaseResult result, const std::string& name) {
    result.name = name;
    result.source = "scenarios/files/" + name + ".json";
    suite.cases.push_back(std::move(result));
  };
  CaseResult unexpected = caught;
  unexpected.expected = {};
  add(unexpected, "unexpected <&\" %\xff");
  add(unexpected, "known");
  CaseResult missed = passed;
  missed.expected = {Verdict::kFailed, "replicas/drift"};
  add(missed, "missed");
  for (const Verdict verdict : {Verdict::kSkipped, Verdict::kError, Verdict::kAborted, Verdict::kIncomparable}) {
    CaseResult other = sampleSuite().cases[2];
    other.verdict = verdict;
    add(other, std::string("other/") + enumName(verdict));
  }
  const KnownFailureList list{kKnownFailuresSchema,
                              {{"known", "kernel-cache/shared-handle", "", "@o", "r", "2026-12-31"},
                               {"known", "affinity/host-sync", "", "@o", "r", "2026-12-31"},
                               {"missed", "x", "", "@o", "r", "2026-01-31"},
                               {"dual-drafter", "x", "", "@o", "r", "2026-12-31"}}};
  for (CaseResult& each : suite.cases) markKnown(list, "2026-11-29", each);
  suite.known = usesOf(list, "2026-11-29", suite);
  suite.knownFile = "known-failures.json";
  return suite;
}

/// A time that a careless printer writes with an exponent; no case at all.
std::vector<SuiteResult> suites() {
  SuiteResult longOne = everyKind(), empty;
  longOne.seconds = 1e9;
  longOne.cases[0].figures.seconds = 1e-7;
  empty.started = "2026-11-29T20:00:00Z";
  return {everyKind(), sampleSuite(), longOne, empty};
}

class FormatSchemaTest : public ::testing::Test {
 protected:
  using Texts = std::vector<std::string>;

  /// What a command finds wrong with files of these texts, all in one call; "" for nothing.
  std::string problemsOf(const std::string& command, const Texts& texts) const {
    std::string files;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string file = folder_.file("document" + std::to_string(i));
      writeFileAtomically(file, texts[i]);
      files += " " + file;
    }
    const auto output = outputOf(command + files);
    return output.status == 0 ? "" : "status " + std::to_string(output.status) + ": " + output.text;
  }
  std::string problems(const std::string& schema, const Texts& texts, const std::string& option = "") const {
    return problemsOf(python_ + " " + kValidator + " " + option + " " + schema, texts);
  }
  std::string xmlProblems(const std::string& schema, const Texts& texts) const {
    return problemsOf("xmllint --nonet --noout --schema " + schema, texts);
  }
  static Texts printed(std::string (*print)(const SuiteResult&)) {
    Texts texts;
    for (const SuiteResult& suite : suites()) texts.push_back(print(suite));
    return texts;
  }
  static bool hasXmllint() { return outputOf("xmllint --version").status == 0; }

  TempFolder folder_;
  std::string python_ = pythonWith("jsonschema", "REDRAFT_SCHEMA_PYTHON");
};

TEST_F(FormatSchemaTest, SarifGitLabAndBenchmarkHoldToOurPartOfTheirSchemas) {
  if (python_.empty()) GTEST_SKIP() << "no python has jsonschema (Debian: python3-jsonschema)";
  EXPECT_EQ(problems(kOwnSchemas + "/sarif-part.schema.json", printed(printSarif)), "");
  EXPECT_EQ(problems(kOwnSchemas + "/code-quality.schema.json", printed(printCodeQuality)), "");
  EXPECT_EQ(problems(kOwnSchemas + "/benchmark.schema.json", printed(printBenchmark)), "");
}

TEST_F(FormatSchemaTest, SchemasRefuseWhatIsWrong) {
  if (python_.empty()) GTEST_SKIP() << "no python has jsonschema (Debian: python3-jsonschema)";
  Json sarif = Json::parse(printSarif(everyKind()));
  sarif["runs"][0]["results"][0]["level"] = "fatal";
  EXPECT_NE(problems(kOwnSchemas + "/sarif-part.schema.json", {sarif.dump()}).find("'fatal' is not one of"),
            std::string::npos);
  Json quality = Json::parse(printCodeQuality(everyKind()));
  quality[0].erase("fingerprint");
  EXPECT_NE(problems(kOwnSchemas + "/code-quality.schema.json", {quality.dump()}).find("fingerprint"),
            std::string::npos);
  Json benchmark = Json::parse(printBenchmark(everyKind()));
  benchmark["benchmarks"][0]["real_time"] = "fast";
  EXPECT_NE(problems(kOwnSchemas + "/benchmark.schema.json", {benchmark.dump()}).find("'fast'"), std::string::npos);
}

TEST_F(FormatSchemaTest, JunitHoldsToOurPartOfItsSchemaWhichRefusesWhatIsWrong) {
  if (!hasXmllint()) GTEST_SKIP() << "there is no xmllint (Debian: libxml2-utils)";
  const std::string schema = kOwnSchemas + "/junit-part.xsd";
  EXPECT_EQ(xmlProblems(schema, printed(printJunit)), "");
  std::string wrong = printJunit(everyKind());
  const std::size_t at = wrong.find("time=\"0.750\"");
  ASSERT_NE(at, std::string::npos) << wrong;
  EXPECT_NE(xmlProblems(schema, {wrong.replace(at, 12, "time=\"7e-1\"")}).find("7e-1"), std::string::npos);
}

TEST_F(FormatSchemaTest, TheSchemaOfKnownFailuresHoldsToWhatTheReaderTakes) {
  if (python_.empty()) GTEST_SKIP() << "no python has jsonschema (Debian: python3-jsonschema)";
  const std::string schema = std::string(kSourceFolder) + "/scenarios/schema/known-failures.schema.json";
  KnownFailureList list;
  list.failures = {{"a/*", "x/y", "", "@o", "r", "2026-12-31"},
                   {"a", "", std::string(32, 'a'), "@o", "r", "2026-12-31"}};
  const Json good = recordToJson(list);
  EXPECT_EQ(problems(schema, {good.dump()}), "");
  Texts bad;
  for (const char* key : {"scenario", "owner", "reason", "expires", "finding"}) {
    Json lacking = good;
    lacking["failures"][0].erase(key);
    bad.push_back(lacking.dump());
  }
  Json both = good;
  both["failures"][0]["fingerprint"] = std::string(32, 'a');
  bad.push_back(both.dump());
  const std::string found = problems(schema, bad);
  for (std::size_t i = 0; i < bad.size(); ++i)
    EXPECT_NE(found.find("document" + std::to_string(i) + ": "), std::string::npos) << bad[i] << "\n" << found;
}

TEST_F(FormatSchemaTest, TheFormatsHoldToThePublishedSchemas) {
  const char* folder = std::getenv("REDRAFT_FORMAT_SCHEMAS");
  if (folder == nullptr) GTEST_SKIP() << "REDRAFT_FORMAT_SCHEMAS names no folder with the published schemas";
  ASSERT_FALSE(python_.empty());
  ASSERT_TRUE(hasXmllint());
  const std::string published = folder;
  EXPECT_EQ(problems(published + "/sarif-schema-2.1.0.json", printed(printSarif)), "");
  EXPECT_EQ(problems(published + "/codeclimate.json", printed(printCodeQuality), "--each"), "");
  EXPECT_EQ(xmlProblems(published + "/junit-10.xsd", printed(printJunit)), "");
}

}  // namespace
}  // namespace redraft::reports
