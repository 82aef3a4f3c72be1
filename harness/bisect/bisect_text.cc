#include <algorithm>

#include "base/text.h"
#include "golden/quantile.h"
#include "harness/bisect/bisect.h"
#include "harness/bisect/bisect_ends.h"
#include "reports/layout.h"

namespace redraft::harness {
namespace {

std::string percent(double rate) { return reports::formatNumber(100 * rate, 2) + " %"; }

/// "0.71 × (0.70 to 0.73)": median and quartiles beside the good commit's median.
std::string throughputOf(const BisectPlan& plan, const CommitEvidence& evidence) {
  const std::vector<double> rates = ratesOf(evidence);
  if (rates.empty() || !plan.goodTokens) return "–";
  const auto part = [&](double at) {
    return reports::formatNumber(golden::quantileOf(rates, at) / *plan.goodTokens, 3);
  };
  return part(0.5) + " × (" + part(0.25) + " to " + part(0.75) + ")";
}

std::vector<std::string> rowOf(const BisectReport& report, const CommitEvidence& evidence) {
  const bool culprit = report.suspects == std::vector<std::string>{evidence.commit};
  std::vector<std::string> row = {culprit ? "→" : "",
                                  enumName(evidence.answer),
                                  evidence.commit.substr(0, kShortHash),
                                  evidence.embedded.empty() ? "–" : evidence.embedded,
                                  std::to_string(evidence.trials.size()),
                                  std::to_string(evidence.count(Sign::kBad)),
                                  std::to_string(evidence.count(Sign::kGood)),
                                  std::to_string(evidence.count(Sign::kUnusable))};
  if (report.plan.throughput) row.push_back(throughputOf(report.plan, evidence));
  row.push_back(printable(evidence.subject, 60) + (evidence.reason.empty() ? "" : " (" + evidence.reason + ")"));
  return row;
}

std::string criterionOf(const BisectPlan& plan) {
  if (!plan.throughput) return plan.failure.empty() ? "" : "bad is: " + plan.failure;
  if (!plan.threshold || !plan.goodTokens || !plan.badTokens) return "";
  return "bad is: below " + reports::formatRate(*plan.threshold) + ", " +
         reports::formatNumber(*plan.threshold / *plan.goodTokens, 3) + " × the good commit's median of " +
         reports::formatRate(*plan.goodTokens) + "; the bad commit's is " + reports::formatRate(*plan.badTokens);
}

std::string ratesLine(const BisectReport& report) {
  if (report.plan.misleading == 0) return "one run decides: --misleading 0 says that none misleads";
  const int judged = static_cast<int>(std::count_if(report.commits.begin(), report.commits.end(), [](const auto& each) {
    return each.answer != CommitAnswer::kSkipped;
  }));
  return "where a run misleads at most " + percent(report.plan.misleading) + " of the time, a lead of " +
         std::to_string(report.margin) + " runs is wrong " + percent(report.errorRate) + " of the time; all " +
         std::to_string(judged) + " answers together at most " + percent(judged * report.errorRate);
}

std::string verdictOf(const BisectReport& report) {
  if (!report.problem.empty()) return "no culprit: " + report.problem;
  const auto subject = [&](const std::string& commit) {
    for (const CommitEvidence& each : report.commits)
      if (each.commit == commit) return " " + printable(each.subject, 60);
    return std::string();
  };
  if (report.suspects.size() == 1) return "first bad commit: " + report.suspects[0] + subject(report.suspects[0]);
  std::string text =
      "the first bad commit is one of " + std::to_string(report.suspects.size()) + ", because skipped ones hide it:";
  for (const std::string& commit : report.suspects) text += "\n  " + commit + subject(commit);
  return text;
}

}  // namespace

std::string describe(const BisectReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"", "answer", "commit", "built from", "runs", "bad", "good", "neither"}};
  if (report.plan.throughput) rows[0].push_back("tokens/s (quartiles)");
  rows[0].push_back("subject");
  for (const CommitEvidence& each : report.commits) rows.push_back(rowOf(report, each));
  std::string out;
  for (const std::string& line : reports::alignColumns(rows, "  ", {4, 5, 6, 7})) out += line + "\n";
  const int judged = static_cast<int>(report.commits.size());
  out += std::to_string(judged) + " commits judged of " + std::to_string(report.candidates + 1) + "\n";
  for (const std::string& line : {criterionOf(report.plan), ratesLine(report), verdictOf(report)})
    if (!line.empty()) out += line + "\n";
  return out + "record: " + report.plan.folder + "\n";
}

}  // namespace redraft::harness
