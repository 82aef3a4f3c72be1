#include "harness/replay.h"

#include "base/error.h"
#include "base/files.h"
#include "golden/golden.h"
#include "harness/run_folder.h"
#include "harness/suite.h"

namespace redraft::harness {
namespace {

std::string firstSignature(const reports::CaseResult& result) {
  return result.findings.empty() ? "" : result.findings.front().signature;
}

std::string outcomeText(const reports::CaseResult& result) {
  return std::string(enumName(result.verdict)) + (result.findings.empty() ? "" : " " + firstSignature(result));
}

/// How the numbers of the two runs differ, as far as they can be read.
std::string numbersText(const std::string& before, const std::string& now) {
  try {
    return golden::describe(golden::compareNumerics(golden::loadRun(before), golden::loadRun(now)));
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

ReplayResult compareReplay(std::optional<reports::CaseResult> before, reports::CaseResult now) {
  ReplayResult result{std::move(before), std::move(now), false, ""};
  if (!result.before) {
    result.text = "the recorded run has no result to compare with; now: " + outcomeText(result.now);
    return result;
  }
  const bool sameOutcome = outcomeText(*result.before) == outcomeText(result.now);
  if (!sameOutcome) {
    result.text =
        "another outcome\n  recorded: " + outcomeText(*result.before) + "\n  now:      " + outcomeText(result.now);
  } else if (!result.now.findings.empty()) {
    result.same = true;
    result.text = "the same signature came back: " + firstSignature(result.now);
  } else if (result.now.digest.empty()) {
    result.text = "the same verdict, without a record whose numbers could be compared";
  } else {
    result.same = result.before->digest == result.now.digest;
    result.text = result.same ? "the same numbers came back, bit for bit: " + result.now.digest
                              : "the same verdict, but other numbers";
  }
  return result;
}

ReplayResult replayRun(const CasePlan& plan, const std::string& recorded, const std::string& out, CaseOptions options) {
  std::optional<reports::CaseResult> before;
  if (fileExists(joinPath(recorded, kResultFile))) before = loadCaseResult(recorded);
  options.environment = thisEnvironment(plan.pinning);
  SuiteRecord record(plannedSuite({plan}, makeSuiteFolder(out, "-replay")), {});
  const std::string folder = record.result().cases.front().runFolder;
  record.started(0);
  ReplayResult result = compareReplay(std::move(before), runCase(plan, folder, options));
  record.ended(0, result.now);
  record.finish(result.now.figures.seconds);
  if (!result.same && result.before && !result.before->digest.empty() && !result.now.digest.empty())
    result.text += "\n" + numbersText(recorded, folder);
  return result;
}

}  // namespace redraft::harness
