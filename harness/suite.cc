#include "harness/suite.h"

#include <atomic>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>

#include "base/characters.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "harness/interrupt.h"
#include "harness/progress.h"

namespace redraft::harness {
namespace {

using Clock = std::chrono::steady_clock;

/// The workers share the next index, and stop at the first thing that is not a case's own fault.
class Workers {
 public:
  Workers(const std::vector<CasePlan>& plans, const SuiteOptions& options, SuiteRecord& record,
          ProgressDisplay& display)
      : plans_(plans), options_(options), record_(record), display_(display) {}

  void run() {
    std::vector<std::thread> threads;
    const auto jobs = std::min<std::size_t>(static_cast<std::size_t>(options_.jobs), plans_.size());
    for (std::size_t i = 0; i < jobs; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    try {
      for (std::size_t i; !stopped_ && interrupted() == 0 && (i = next_++) < plans_.size();) runOne(i);
    } catch (...) {
      stopped_ = true;
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void runOne(std::size_t index) {
    const CasePlan& plan = plans_[index];
    record_.started(index);
    display_.started(index);
    CaseOptions options = options_.cases;
    options.environment = thisEnvironment(plan.pinning);
    options.scalingBase = figuresOf(plan.scalingOf);
    options.supervisor.onProgress = [&](const RunProgress& progress) { display_.progressed(index, progress); };
    const std::string folder = record_.result().cases[index].runFolder;
    display_.ended(index, record_.ended(index, runCase(plan, folder, options)));
  }

  /// Of a case that has ended; times of one that did not pass are no measure.
  std::optional<reports::Figures> figuresOf(const std::string& name) const {
    if (name.empty()) return std::nullopt;
    for (const reports::CaseResult& each : record_.result().cases) {
      const bool whole = each.verdict == reports::Verdict::kPassed || each.verdict == reports::Verdict::kIncomparable;
      if (each.name == name && whole) return each.figures;
    }
    return std::nullopt;
  }

  const std::vector<CasePlan>& plans_;
  const SuiteOptions& options_;
  SuiteRecord& record_;
  ProgressDisplay& display_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

reports::SuiteResult plannedSuite(const std::vector<CasePlan>& plans, const std::string& folder) {
  reports::SuiteResult suite;
  suite.version = versionText();
  suite.commit = commitText();
  suite.started = utcNow();
  suite.folder = folder;
  for (const CasePlan& plan : plans)
    suite.cases.push_back(plannedResult(plan, joinPath(folder, caseFolderName(plan.name))));
  return suite;
}

std::string utcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Shard parseShard(const std::string& text) {
  const std::vector<std::string> parts = split(text, '/');
  const auto number = [](const std::string& part) { return part.size() < 6 && isDigits(part) ? std::stoul(part) : 0; };
  const std::size_t index = number(parts.front()), count = parts.size() == 2 ? number(parts[1]) : 0;
  if (index < 1 || count < 1 || index > count)
    throwBadInput("--shard", "\"" + printable(text) + "\" is not a shard", "write i/n with 1 ≤ i ≤ n, as in 2/3");
  return {index - 1, count};
}

std::vector<CasePlan> selectShard(const std::vector<CasePlan>& plans, const Shard& shard) {
  std::vector<CasePlan> selected;
  for (std::size_t i = shard.index; i < plans.size(); i += shard.count) selected.push_back(plans[i]);
  return selected;
}

reports::SuiteResult runSuite(const std::vector<CasePlan>& plans, const SuiteOptions& options) {
  makeDirectories(options.out);
  const FileLock lock(joinPath(options.out, ".lock"), 0);
  const std::string folder = makeSuiteFolder(options.out, "");
  pointLatest(folder);  // before anything can fail: an earlier suite that passed is not this one
  if (options.keep) keepSuite(folder);
  const Clock::time_point start = Clock::now();
  reports::SuiteResult planned = plannedSuite(plans, folder);
  planned.knownFile = options.knownFile;
  SuiteRecord record(std::move(planned), options.files, options.known);
  for (const std::string& gone : pruneSuites(options.out, options.prune))
    log(LogLevel::kInfo, "removed the old suite " + gone + " (--keep spares one)");
  {
    ProgressDisplay display(stderr, options.terminal, plans);
    Workers(plans, options, record, display).run();
  }
  record.finish(std::chrono::duration<double>(Clock::now() - start).count());
  return record.result();
}

}  // namespace redraft::harness
