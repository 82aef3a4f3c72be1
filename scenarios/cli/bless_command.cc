#include <signal.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "base/characters.h"
#include "base/error.h"
#include "base/files.h"
#include "base/version.h"
#include "golden/golden_file.h"
#include "golden/review.h"
#include "harness/suite.h"
#include "harness/suite_folder.h"
#include "scenarios/cli/bless_runs.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/perturbed_runs.h"
#include "scenarios/cli/review_session.h"

namespace redraft::scenarios {
namespace {

/// Ctrl-C waits until all files are in their places.
class NoInterrupt {
 public:
  NoInterrupt() {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&blocked, signal);
    ::sigprocmask(SIG_BLOCK, &blocked, &before_);
  }
  ~NoInterrupt() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  NoInterrupt(const NoInterrupt&) = delete;
  NoInterrupt& operator=(const NoInterrupt&) = delete;

 private:
  sigset_t before_;
};

class BlessCommand : public Command {
 public:
  const char* name() const override { return "bless"; }
  const char* help() const override {
    return "Make a run the golden of its scenario, as a whole or value by value; or take goldens away that have no use";
  }

  void declare(CLI::App& app) override {
    app.add_option("run", run_, "run folder, or a suite's: then every run of it whose golden is new or differs")
        ->type_name("RUN");
    app.add_option("--reason", reason_, "why these numbers are right; kept in the golden. --review asks when not given")
        ->type_name("TEXT");
    app.add_option("--repeats", repeats_,
                   "further runs of the same build, in the order they were run (suite folders, when RUN is one): how "
                   "far they are apart goes to the performance golden, for `redraft compare`")
        ->type_name("RUN");
    app.add_flag("--review", review_, "go through what would change, and ask: answers are read from standard input");
    app.add_option("--accept", keys_,
                   "with --review, ask nothing: take values that match, \"step/*/loss\"; may be given "
                   "several times")
        ->type_name("GLOB")
        ->take_all()
        ->expected(1);
    app.add_option("--accept-scenario", scenarios_, "likewise: all values of scenarios that match")
        ->type_name("GLOB")
        ->take_all()
        ->expected(1);
    app.add_flag("--prune", prune_, "remove goldens and values that no scenario is compared with any more; no RUN");
    app.add_option("--perturb", seeds_,
                   "run the scenario N times more, with numbers moved by as much as rounding moves them: then runs of "
                   "other numerics classes can be held against the golden. More runs, tighter bounds")
        ->type_name("N")
        ->check(CLI::Range(golden::kFewestSeeds, 1000));
    app.add_flag("--dry-run", dryRun_, "show what would be done and write nothing");
    places_.declareGoldens(app);
    places_.declareScenarios(app);
    places_.declareRunner(app);
  }

  int run() override {
    checkUsage();
    if (prune_) return prune();
    const std::string root = goldens();
    const std::vector<BlessableRun> runs = blessableRuns(run_);
    if (review_) return review(runs, root);
    for (const BlessableRun& each : runs) blessWhole(each, root);
    return kExitAsExpected;
  }

 private:
  bool asks() const { return review_ && keys_.empty() && scenarios_.empty(); }

  void checkUsage() const {
    if (run_.empty() != prune_)
      throwBadInput("RUN", prune_ ? "--prune takes none" : "none is given",
                    prune_ ? "take it away" : "name a run folder, or a suite's");
    if (!review_ && (!keys_.empty() || !scenarios_.empty()))
      throwBadInput("--accept", "needs --review", "write `redraft bless --review RUN --accept GLOB --reason TEXT`");
    if (prune_ && review_) throwBadInput("--prune", "does not go with --review", "do one after the other");
    if (isBlank(reason_) && !dryRun_ && !asks())
      throwBadInput("--reason", "it is empty, or not given",
                    prune_ ? "say why they are of no use" : "say why these numbers are right");
  }

  /// Made beside scenarios/ when there is none yet.
  std::string goldens() const {
    std::string root = places_.goldensOrEmpty();
    if (!root.empty()) return root;
    const std::filesystem::path scenarios = findScenarios(places_.scenarios, std::filesystem::current_path().string());
    root = (scenarios.parent_path() / "golden" / "data").string();
    if (!dryRun_) makeDirectories(root);
    return root;
  }

  void blessWhole(const BlessableRun& run, const std::string& root) const {
    const std::string& golden = run.plan.golden;
    const golden::BlessResult preview = golden::previewBless(run.record, root, golden);
    printOut(golden + ": " + (preview.isNew ? "new" : golden::describe(preview.difference)) + "\n");
    if (dryRun_) return;
    const golden::AcrossMeans means = meansOf(run);
    const NoInterrupt guard;
    const golden::BlessResult written =
        golden::bless(run.record, root, golden, provenanceOf(run, reason_), means, repeatedRates(run));
    for (const std::string& file : {written.numericsFile, written.performanceFile})
      if (!file.empty()) printOut("  wrote " + file + "\n");
    const auto inherited = golden::findNumerics(root, golden, run.record.numericsClass);
    if (written.difference.outcome == golden::Outcome::kDifferent && inherited) noteOldResponses(*inherited);
  }

  golden::RunRates repeatedRates(const BlessableRun& run) const {
    if (repeats_.empty()) return {};
    std::vector<golden::Record> repeats;
    for (const std::string& each : repeats_)
      repeats.push_back(
          golden::loadRun(isSuiteFolder(each) ? joinPath(each, harness::caseFolderName(run.plan.name)) : each));
    return golden::ratesOf(run.record, repeats);
  }

  golden::AcrossMeans meansOf(const BlessableRun& run) const {
    golden::AcrossMeans means;
    means.arithmetic = run.plan.arithmetic;
    if (seeds_ == 0) return means;
    if (!means.arithmetic)
      throwBadInput("--perturb", run.plan.name + " trains nothing: there are no parameters to move", "leave it out");
    means.responses = measureResponses(run, seeds_, places_.caseOptions(), printOut);
    return means;
  }

  /// Where numbers have changed and their responses have not been measured anew.
  void noteOldResponses(const golden::Golden& old) const {
    if (seeds_ > 0 || old.responses.empty()) return;
    printOut("  keeps how the numbers of commit " + old.responses.begin()->second.commit.substr(0, 12) +
             " answered to rounding; --perturb N measures it anew\n");
  }

  // Review.

  int review(const std::vector<BlessableRun>& all, const std::string& root) {
    std::vector<BlessableRun> runs;
    std::vector<golden::Review> reviews;
    for (const BlessableRun& run : all) {
      golden::Review one = golden::reviewOf(run.record, root, run.plan.golden);
      if (one.equal()) {
        printOut(one.scenario + ": equal bit for bit, nothing to review\n");
        continue;
      }
      runs.push_back(run);
      reviews.push_back(std::move(one));
    }
    if (reviews.empty()) return kExitAsExpected;
    const std::vector<Accepted> accepted = answers(runs, reviews);
    return writeAccepted(runs, reviews, accepted, root);
  }

  std::vector<Accepted> answers(const std::vector<BlessableRun>& runs, const std::vector<golden::Review>& reviews) {
    if (!asks()) return acceptByGlobs(reviews, keys_, scenarios_);
    std::vector<std::string> heads;
    for (std::size_t i = 0; i < runs.size(); ++i)
      heads.push_back(reviews[i].golden
                          ? standingOf(reviews[i].file, reviews[i].golden->provenance, provenanceOf(runs[i], "").commit)
                          : "");
    if (!dryRun_) return session_.ask(reviews, heads);
    for (std::size_t i = 0; i < runs.size(); ++i) printOut(listOf(reviews[i], heads[i]));
    return std::vector<Accepted>(runs.size());
  }

  static std::string listOf(const golden::Review& review, const std::string& standing) {
    std::string text = review.scenario + (standing.empty() ? ": new\n" : ": its golden is " + standing + "\n");
    if (!review.golden) return text;
    for (const golden::ChangeSeries& series : review.series) text += "  " + golden::describe(series) + "\n";
    return text;
  }

  int writeAccepted(const std::vector<BlessableRun>& runs, const std::vector<golden::Review>& reviews,
                    const std::vector<Accepted>& accepted, const std::string& root) {
    std::size_t scenarios = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!accepted[i].any) continue;
      ++scenarios;
      const std::size_t skipped = reviews[i].changes() - accepted[i].keys.size();
      printOut(reviews[i].scenario + ": " + std::to_string(accepted[i].keys.size()) + " of " +
               std::to_string(reviews[i].changes()) + " values accepted" +
               (skipped > 0 ? "; runs will still differ from it in the other " + std::to_string(skipped) : "") + "\n");
    }
    if (scenarios == 0 || dryRun_) {
      printOut("nothing was written\n");
      return kExitAsExpected;
    }
    if (isBlank(reason_)) reason_ = session_.askReason();
    std::vector<TextFile> texts;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (accepted[i].any) addTexts(runs[i], reviews[i], accepted[i], root, texts);
    if (asks() &&
        !session_.confirm("write " + std::to_string(texts.size()) + (texts.size() == 1 ? " file?" : " files?"))) {
      printOut("nothing was written\n");
      return kExitAsExpected;
    }
    const NoInterrupt guard;
    golden::GoldenFiles files;
    for (const TextFile& each : texts) files.add(each.path, each.text);
    files.commit();
    for (const TextFile& each : texts) printOut("  wrote " + each.path + "\n");
    return kExitAsExpected;
  }

  struct TextFile {
    std::string path, text;
  };

  void addTexts(const BlessableRun& run, const golden::Review& review, const Accepted& accepted,
                const std::string& root, std::vector<TextFile>& texts) const {
    golden::Golden next = golden::accepted(review, accepted.keys, provenanceOf(run, reason_), meansOf(run));
    texts.push_back({review.file, golden::numericsText(next)});
    if (review.golden) noteOldResponses(next);
    // Times are of the whole run: they go with the whole scenario alone.
    if (accepted.keys.size() != review.changes() || !run.record.performanceClass || run.record.samples.empty()) return;
    next.history.clear();
    if (const auto old = golden::findPerformance(root, review.scenario, *run.record.performanceClass))
      golden::inheritHistory(next, *old);
    texts.push_back(
        {golden::performancePath(root, review.scenario, *run.record.performanceClass), golden::performanceText(next)});
  }

  // Prune.

  int prune() const {
    const std::string root = places_.goldensOrEmpty();
    if (root.empty()) throwBadInput("--goldens", "there is no folder of goldens", "name it");
    const std::vector<golden::Orphan> orphans = golden::findOrphans(root, goldenUsers(places_.loadScenarios()));
    for (const golden::Orphan& orphan : orphans) {
      printOut(orphan.file + ": " + orphan.why + "\n");
      if (dryRun_) continue;
      const NoInterrupt guard;
      golden::prune(root, orphan, {harness::utcNow(), commitText(), reason_});
    }
    printOut(std::to_string(orphans.size()) +
             (dryRun_ || orphans.empty() ? " without a use\n" : " without a use: removed\n"));
    return kExitAsExpected;
  }

  Places places_;
  std::vector<std::string> repeats_;
  ReviewSession session_{std::cin, printOut};
  std::string run_, reason_;
  std::vector<std::string> keys_, scenarios_;
  int seeds_ = 0;
  bool review_ = false, prune_ = false, dryRun_ = false;
};

}  // namespace

std::unique_ptr<Command> makeBlessCommand() { return std::make_unique<BlessCommand>(); }

}  // namespace redraft::scenarios
