#include "harness/bisect/bisect.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/record_file.h"
#include "base/text.h"
#include "harness/bisect/bisect_ends.h"
#include "harness/bisect/bisect_tree.h"
#include "harness/bisect/command.h"
#include "harness/bisect/commit_judge.h"
#include "harness/interrupt.h"
#include "harness/suite_folder.h"

namespace redraft::harness {
namespace {

constexpr std::chrono::hours kLongest{24 * 7};

void append(const std::string& folder, const CommitEvidence& evidence) {
  LineWriter(joinPath(folder, kBisectCommitsFile)).append(oneLine(recordToJson(evidence)));
}

std::vector<CommitEvidence> recorded(const std::string& folder) {
  const std::string path = joinPath(folder, kBisectCommitsFile);
  std::vector<CommitEvidence> commits;
  if (!fileExists(path)) return commits;
  for (const std::string& line : readLines(path))
    commits.push_back(
        recordFromJson<CommitEvidence>(JsonDocument::parse(line, path, JsonDocument::Comments::kRefuse).root(), path));
  return commits;
}

/// Interrupts this program when one of two is gone: what drives the bisection, or the shell of git's that called this.
void endWith(std::int64_t driver, pid_t parent) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(driver), 0));
  if (fd < 0) throw Error(ErrorKind::kEnvironment, "the bisection", "is not running any more");
  std::thread([fd, parentFd = static_cast<int>(::syscall(SYS_pidfd_open, parent, 0))] {
    pollfd ended[] = {{fd, POLLIN, 0}, {parentFd, POLLIN, 0}};
    while (::poll(ended, 2, 60'000) <= 0) {  // as long as this program lasts
    }
    ::kill(::getpid(), SIGTERM);
  }).detach();
}

/// A step in a group of its own, so that it is not killed with git's before it has ended its build or run; the lock
/// says that it has.
class StepLock {
 public:
  explicit StepLock(const std::string& folder) : lock_(joinPath(folder, kFile), 0) { ::setpgid(0, 0); }
  static void waitFor(const std::string& folder) {
    try {
      const FileLock gone(joinPath(folder, kFile), 15'000);
    } catch (const Error& error) {
      log(LogLevel::kWarning, error.what());
    }
  }

 private:
  static constexpr const char* kFile = "step.lock";
  FileLock lock_;
};

/// Good first, then by the order of history.
void sortByHistory(const std::vector<std::string>& candidates, std::vector<CommitEvidence>& commits) {
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < candidates.size(); ++i) place[candidates[i]] = i + 1;
  std::stable_sort(commits.begin(), commits.end(),
                   [&](const CommitEvidence& a, const CommitEvidence& b) { return place[a.commit] < place[b.commit]; });
}

/// git's words go to a log, the steps' lines to the user too.
class BisectLog {
 public:
  explicit BisectLog(const std::string& path) : file_(path, std::ios::app) {}
  void take(std::string_view text) {
    file_ << text << std::flush;
    pending_ += text;
    for (std::size_t end; (end = pending_.find('\n')) != std::string::npos; pending_.erase(0, end + 1))
      if (pending_.starts_with("redraft: ")) std::cerr << pending_.substr(0, end + 1) << std::flush;
  }

 private:
  std::ofstream file_;
  std::string pending_;
};

/// Commits that can be the first bad one, as git sees it after its last step.
std::vector<std::string> suspectsOf(const std::string& tree) {
  std::vector<std::string> command = {"git", "rev-list", "refs/bisect/bad", "--not"};
  for (const std::string& ref :
       split(outputOf({"git", "for-each-ref", "--format=%(refname)", "refs/bisect/"}, tree), '\n'))
    if (ref.starts_with("refs/bisect/good-")) command.push_back(ref);
  return split(outputOf(command, tree), '\n');
}

/// Runs git over what lies between the ends; the report's commits are read back from the record.
void runGit(const std::string& self, BisectReport& report) {
  const BisectPlan& plan = report.plan;
  BisectLog log(joinPath(plan.folder, "bisect.log"));
  CommandOptions options;
  options.folder = plan.tree;
  options.limit = std::chrono::duration_cast<std::chrono::seconds>(kLongest);
  options.onOutput = [&](std::string_view text) { log.take(text); };
  outputOf({"git", "bisect", "start", plan.bad, plan.good}, plan.tree);
  const CommandResult result = runCommand({"git", "bisect", "run", self, "bisect-step", plan.folder}, options);
  StepLock::waitFor(plan.folder);
  report.commits = recorded(plan.folder);
  if (result.interrupted) {
    report.problem = "interrupted";
    return;
  }
  report.suspects = suspectsOf(plan.tree);
  if (report.suspects.size() == 1) return;
  const auto isSkipped = [&](const std::string& commit) {
    return commit == report.suspects.front() ||
           std::any_of(report.commits.begin(), report.commits.end(), [&](const CommitEvidence& each) {
             return each.commit == commit && each.answer == CommitAnswer::kSkipped;
           });
  };
  if (!std::all_of(report.suspects.begin(), report.suspects.end(), isSkipped))
    report.problem = "git bisect run " + result.text() + " before it was done: " + joinPath(plan.folder, "bisect.log");
}

}  // namespace

BisectReport bisect(BisectPlan plan, const std::string& repository, const std::string& out, const std::string& self) {
  plan.good = resolveCommit(repository, plan.good);
  plan.bad = resolveCommit(repository, plan.bad);
  plan.pid = ::getpid();
  plan.folder = makeSuiteFolder(out, "-bisect");
  plan.tree = joinPath(plan.folder, "tree");
  const BisectTree tree(repository, plan.tree);
  const std::vector<std::string> candidates = commitsBetween(plan.tree, plan.good, plan.bad);
  plan.commitError = errorPerCommit(plan.error, static_cast<int>(candidates.size()));
  const SequentialTest test(plan.misleading, plan.commitError);
  BisectReport report;
  report.candidates = static_cast<int>(candidates.size());
  report.margin = test.margin();
  report.errorRate = test.errorRate();
  BisectEnds ends = learnEnds(plan);
  report.plan = plan;
  report.problem = interrupted() != 0 ? "interrupted" : ends.problem;
  report.commits = ends.commits;
  for (const CommitEvidence& each : ends.commits) {
    append(plan.folder, each);
    log(LogLevel::kInfo, lineOf(each));
  }
  writeFileAtomically(joinPath(plan.folder, kBisectPlanFile), pretty(recordToJson(plan)));
  if (report.problem.empty() && candidates.size() == 1)
    report.suspects = candidates;
  else if (report.problem.empty())
    runGit(self, report);
  sortByHistory(candidates, report.commits);
  writeFileAtomically(joinPath(plan.folder, kBisectFile), pretty(recordToJson(report)));
  return report;
}

int bisectStep(const std::string& folder) {
  const pid_t parent = ::getppid();
  const auto plan = loadRecordFile<BisectPlan>(joinPath(folder, kBisectPlanFile), kBisectPlanSchema);
  const StepLock lock(folder);
  endWith(plan.pid, parent);
  CommitJudge judge(plan);
  if (judge.prepare()) judge.decide();
  if (interrupted() != 0) return kStepAbort;
  const CommitEvidence& evidence = judge.evidence();
  append(folder, evidence);
  cleanTree(plan.tree);
  log(LogLevel::kInfo, lineOf(evidence));
  switch (evidence.answer) {
    case CommitAnswer::kGood:
      return kStepGood;
    case CommitAnswer::kBad:
      return kStepBad;
    case CommitAnswer::kSkipped:
      break;
  }
  return kStepSkip;
}

}  // namespace redraft::harness
