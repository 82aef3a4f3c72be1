#include "harness/bisect/commit_judge.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "golden/run_files.h"
#include "harness/bisect/bisect_tree.h"
#include "harness/bisect/command.h"
#include "reports/printers.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kLeastHash = 7;  // digits that an embedded commit has at least
constexpr int kLeastUnusable = 8;      // runs that said nothing, and four of five: more would not either
constexpr std::size_t kMaxReport = 64u << 20;

/// "redraft 0.1.0 (commit 3f2a91c04d1b)" → "3f2a91c04d1b"; "" when it does not say.
std::string commitIn(const std::string& versionLine) {
  const std::string mark = "(commit ";
  const std::size_t at = versionLine.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + mark.size(), end = versionLine.find(')', begin);
  return end == std::string::npos ? "" : versionLine.substr(begin, end - begin);
}

/// Of a report of any age: only what is needed is read, and what it has beyond that is no matter.
Trial trialOf(const Json& result) {
  Trial trial;
  trial.reported = true;
  trial.outcome = result.at("verdict").get<std::string>();
  trial.asExpected = result.at("as_expected").get<bool>();
  const Json& findings = result.at("findings");
  if (!findings.empty()) trial.outcome += " " + findings.at(0).at("id").get<std::string>();
  const Json& rates = result.at("figures").at("tokens_per_second");
  if (trial.asExpected && rates.contains("all")) trial.tokensPerSecond = rates["all"].get<double>();
  return trial;
}

}  // namespace

int CommitEvidence::count(Sign sign) const {
  return static_cast<int>(
      std::count_if(trials.begin(), trials.end(), [&](const Trial& each) { return each.sign == sign; }));
}

CommitJudge::CommitJudge(const BisectPlan& plan) : plan_(plan) {
  evidence_.commit = outputOf({"git", "rev-parse", "HEAD"}, plan.tree);
  evidence_.subject = subjectOf(plan.tree, evidence_.commit);
  runs_ = joinPath(plan.folder, evidence_.commit.substr(0, kShortHash));
  makeDirectories(runs_);
}

bool CommitJudge::skip(std::string reason) {
  evidence_.answer = CommitAnswer::kSkipped;
  evidence_.reason = std::move(reason);
  return false;
}

void CommitJudge::noteTime() {
  evidence_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

bool CommitJudge::isOfCommit(const std::string& embedded) const {
  return embedded.size() >= kLeastHash && evidence_.commit.starts_with(embedded);  // "…-dirty" is not
}

bool CommitJudge::prepare() {
  log(LogLevel::kInfo,
      evidence_.commit.substr(0, kShortHash) + " is built and run: " + printable(evidence_.subject, 60));
  const std::string buildLog = joinPath(runs_, "build.log");
  std::ofstream file(buildLog, std::ios::app);
  CommandOptions options;
  options.folder = plan_.tree;
  options.limit = std::chrono::seconds(plan_.buildSeconds);
  options.onOutput = [&](std::string_view text) { file << text << std::flush; };
  const CommandResult built = runCommand({"/bin/sh", "-c", plan_.build}, options);
  noteTime();
  if (!built.ok()) return skip("the build " + built.text() + ": " + buildLog);
  return checkPrograms();
}

bool CommitJudge::checkPrograms() {
  CommandOptions options;
  options.folder = plan_.tree;
  const std::string program = joinPath(plan_.tree, plan_.program);
  if (!fileExists(program)) return skip("the build made no " + plan_.program);
  const CommandResult version = runCommand({program, "--version"}, options);
  evidence_.embedded = commitIn(version.output);
  if (!version.ok() || !isOfCommit(evidence_.embedded))
    return skip(plan_.program + " is not of this commit: it says \"" + printable(evidence_.embedded) + "\"");
  const std::string runner = joinPath(std::filesystem::path(program).parent_path().string(), "redraft-runner");
  if (!fileExists(runner)) return true;
  const CommandResult about = runCommand({runner, "about"}, options);
  const Json json = Json::parse(about.output, nullptr, false);
  const bool says = json.is_object() && json.contains("commit") && json["commit"].is_string();
  const std::string commit = says ? json["commit"].get<std::string>() : "";
  return isOfCommit(commit) ||
         skip("redraft-runner is not of this commit: it says \"" + printable(commit) + "\"; does the build make it?");
}

bool CommitJudge::runOnce() {
  std::vector<std::string> command = {joinPath(plan_.tree, plan_.program), "run"};
  command.insert(command.end(), plan_.run.begin(), plan_.run.end());
  command.insert(command.end(), {"--out", joinPath(runs_, "runs")});
  CommandOptions options;
  options.folder = plan_.tree;
  options.limit = std::chrono::seconds(plan_.runSeconds);
  const std::string latest = joinPath(runs_, "runs/latest");
  std::error_code none;
  std::filesystem::remove(latest, none);  // or a run that leaves nothing passes off the one before
  const CommandResult ended = runCommand(command, options);
  noteTime();
  if (ended.interrupted) return skip("interrupted");
  evidence_.trials.push_back(readTrial(joinPath(latest, "report.json"), ended.text()));
  return evidence_.reason.empty();
}

Trial CommitJudge::readTrial(const std::string& report, const std::string& ended) {
  Trial trial;
  trial.outcome = "no report: the program " + ended;
  if (!fileExists(report)) return trial;
  try {
    const Json json = Json::parse(readFile(report, kMaxReport));
    const std::string commit = json.at("commit");
    if (!isOfCommit(commit)) skip("a report is not of this commit: it says \"" + printable(commit) + "\"");
    if (json.at("cases").size() == 1) return trialOf(json["cases"][0]);
    trial.outcome = "a report of " + std::to_string(json["cases"].size()) + " cases, not one";
  } catch (const std::exception& error) {
    trial.outcome = std::string("a report that cannot be read: ") + error.what();
  }
  return trial;
}

void CommitJudge::decide() {
  SequentialTest test(plan_.misleading, plan_.commitError);
  for (Trial& trial : evidence_.trials) trial.sign = signOf(plan_, trial);
  for (std::size_t i = 0; evidence_.reason.empty(); ++i) {
    if (test.answer() != SequentialTest::Answer::kOpen) {
      evidence_.answer = test.answer() == SequentialTest::Answer::kBad ? CommitAnswer::kBad : CommitAnswer::kGood;
      return;
    }
    const int unusable = evidence_.count(Sign::kUnusable);
    if (unusable >= kLeastUnusable && 5 * unusable > 4 * static_cast<int>(evidence_.trials.size())) {
      skip("most runs say neither: " + evidence_.trials.back().outcome);
      return;
    }
    if (static_cast<int>(i) >= plan_.repeats) {
      skip("not decided in " + std::to_string(plan_.repeats) + " runs");
      return;
    }
    if (i >= evidence_.trials.size() && !runOnce()) return;
    Trial& trial = evidence_.trials[i];
    trial.sign = signOf(plan_, trial);
    if (trial.sign != Sign::kUnusable) test.add(trial.sign == Sign::kBad);
  }
}

Sign signOf(const BisectPlan& plan, const Trial& trial) {
  if (!trial.reported) return Sign::kUnusable;
  if (plan.throughput) {
    if (!trial.tokensPerSecond || !plan.threshold) return Sign::kUnusable;
    return *trial.tokensPerSecond < *plan.threshold ? Sign::kBad : Sign::kGood;
  }
  if (trial.asExpected) return Sign::kGood;
  return trial.outcome == plan.failure ? Sign::kBad : Sign::kUnusable;
}

std::string lineOf(const CommitEvidence& evidence) {
  std::string line = evidence.commit.substr(0, kShortHash) + " " + enumName(evidence.answer) + ": " +
                     std::to_string(evidence.trials.size()) + " runs, " + std::to_string(evidence.count(Sign::kBad)) +
                     " bad, " + std::to_string(evidence.count(Sign::kGood)) + " good";
  if (evidence.count(Sign::kUnusable) > 0) line += ", " + std::to_string(evidence.count(Sign::kUnusable)) + " neither";
  return line + (evidence.reason.empty() ? "" : " (" + evidence.reason + ")");
}

}  // namespace redraft::harness
