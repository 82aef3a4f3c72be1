#include "harness/bench/bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/text.h"
#include "base/version.h"
#include "golden/quantile.h"
#include "golden/run_files.h"
#include "harness/bench/turn_pair.h"
#include "harness/bisect/command.h"
#include "harness/interrupt.h"
#include "harness/suite.h"
#include "harness/suite_folder.h"

namespace redraft::harness {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kMostPairs = 1000;  // the ranks of more take minutes
constexpr double kSecondsPerMinute = 60;

std::string hashOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Hasher hasher;
  std::vector<char> piece(1 << 20);
  do {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hasher.update(piece.data(), static_cast<std::size_t>(file.gcount()));
  } while (file);
  if (!file.eof()) throw Error(ErrorKind::kEnvironment, path, "cannot be read");
  return hasher.digest();
}

/// What the program says it was built from; "unknown" where it does not say.
std::string commitOf(const std::string& runner) {
  const CommandResult about = runCommand({runner, "about"}, {});
  const Json json = Json::parse(about.output, nullptr, false);
  const bool says = about.ok() && json.is_object() && json.contains("commit") && json["commit"].is_string();
  return says ? json["commit"].get<std::string>() : "unknown";
}

std::optional<BenchRatio> ratioOf(const std::optional<golden::RatioInterval>& interval) {
  if (!interval) return std::nullopt;
  return BenchRatio{interval->ratio, interval->low, interval->high};
}

double meanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Of the steps that count, turn by turn; all in one where there are no turns.
std::vector<std::vector<double>> countedSeconds(const BenchBlock& block, const BenchOptions& options, bool perToken) {
  std::vector<double> steps = block.seconds;
  for (std::size_t i = 0; perToken && i < steps.size(); ++i) steps[i] /= std::max(1.0, block.tokens[i]);
  if (options.turn > 0) return secondsByTurn(steps, options.warmup, options.turn);
  return {std::vector<double>(steps.begin() + options.warmup, steps.end())};
}

golden::Block measureOf(const BenchBlock& block, const std::vector<std::vector<double>>& turns) {
  golden::Block out;
  std::vector<double> seconds;
  for (const std::vector<double>& turn : turns) seconds.insert(seconds.end(), turn.begin(), turn.end());
  REDRAFT_CHECK(!seconds.empty(), "a block of warm-up alone");
  out.seconds = golden::medianOf(seconds);
  out.meanSeconds = meanOf(seconds);
  out.clockMhz = block.clockMhz;
  out.slowdown = join(block.throttle, ", ");
  return out;
}

class Bench {
 public:
  explicit Bench(const BenchInput& input) : input_(input), lock_(lockOf(input.out)) {
    report_.version = versionText();
    report_.commit = commitText();
    report_.started = utcNow();
    report_.folder = makeSuiteFolder(input.out, "-bench");
    report_.clock = clocks_.problem().empty() ? "NVML" : clocks_.problem();
    report_.options = input.options;
    report_.a = input.a;
    report_.b = input.b;
    for (BenchSide* side : {&report_.a, &report_.b}) {
      side->commit = commitOf(side->runner);
      side->program = hashOfFile(side->runner);
    }
    save();
  }

  BenchReport run() {
    if (runFirst() && planPairs()) runPairs();
    for (const BenchSide* side : {&report_.a, &report_.b})
      if (hashOfFile(side->runner) != side->program) fail(side->runner + " was built anew while the bench ran");
    report_.seconds = elapsed();
    save();
    writeFileAtomically(joinPath(report_.folder, kReportPage), benchPage(report_));
    return report_;
  }

 private:
  static FileLock lockOf(const std::string& out) {
    makeDirectories(out);
    return FileLock(joinPath(out, ".lock"), 0);
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double budget() const { return kSecondsPerMinute * input_.options.budgetMinutes; }

  void save() const { writeFileAtomically(joinPath(report_.folder, kBenchFile), pretty(recordToJson(report_))); }

  void fail(const std::string& problem) {
    report_.end = interrupted() != 0 ? BenchEnd::kInterrupted : BenchEnd::kFailed;
    report_.problem = problem;
    report_.verdict = golden::ThroughputVerdict::kAmbiguous;
    report_.reason = report_.end == BenchEnd::kFailed ? problem : "it was interrupted";
  }

  /// One more pair; false: it failed.
  bool runPair(const std::string& name, BenchPair& pair) {
    const bool aFirst = CounterRng(input_.options.seed, "bench order", counter_++).below(2) == 0;
    pair.order = aFirst ? "AB" : "BA";
    if (input_.options.turn > 0) return runAtOnce(name, pair, aFirst);
    return aFirst ? runSide(name, pair, true) && runSide(name, pair, false)
                  : runSide(name, pair, false) && runSide(name, pair, true);
  }

  std::string folderOf(const std::string& name, bool isA) const {
    return joinPath(report_.folder, name + (isA ? "-a" : "-b"));
  }
  BlockOptions blockOptions(const BenchSide& side) const {
    return {side.runner, input_.options.warmup, input_.capture};
  }

  bool runAtOnce(const std::string& name, BenchPair& pair, bool aFirst) {
    const double start = elapsed();
    PairRun runs = runInTurns({input_.planA, folderOf(name, true), blockOptions(report_.a)},
                              {input_.planB, folderOf(name, false), blockOptions(report_.b)},
                              {input_.options.warmup, input_.options.turn, aFirst}, clocks_);
    return keep(name, pair, true, start, std::move(runs.a)) && keep(name, pair, false, start, std::move(runs.b));
  }

  bool runSide(const std::string& name, BenchPair& pair, bool isA) {
    const double start = elapsed();
    return keep(name, pair, isA, start,
                runBlock(isA ? input_.planA : input_.planB, folderOf(name, isA),
                         blockOptions(isA ? report_.a : report_.b), clocks_));
  }

  bool keep(const std::string& name, BenchPair& pair, bool isA, double start, BlockRun run) {
    BenchSide& side = isA ? report_.a : report_.b;
    if (!run.problem.empty()) {
      fail(std::string(isA ? "A" : "B") + ": " + run.problem);
      return false;
    }
    run.block.startSeconds = start;
    std::set<std::string>& numbers = numbers_[isA];
    numbers.insert(run.block.numbers);
    side.numbers = numbers.size() == 1 ? *numbers.begin() : "";
    report_.performanceClass = run.performanceClass;
    (isA ? pair.a : pair.b) = std::move(run.block);
    if (!input_.options.keep) fs::remove_all(folderOf(name, isA));
    return true;
  }

  bool runFirst() {
    BenchPair pair;
    if (!runPair("first", pair)) return false;
    perToken_ = pair.a.tokens != pair.b.tokens;
    report_.measure = perToken_ ? "seconds a token" : "seconds a step";
    report_.first = std::move(pair);
    save();
    return true;
  }

  /// As many as the budget has room for, by the first; false: too few.
  bool planPairs() {
    pairSeconds_ = elapsed() - report_.first->a.startSeconds;
    pairSeconds_ = std::max(pairSeconds_, elapsed() - report_.first->b.startSeconds);
    const double room = std::floor((budget() - elapsed()) / pairSeconds_);
    report_.planned =
        input_.options.pairs > 0 ? input_.options.pairs : static_cast<int>(std::clamp(room, 0.0, double{kMostPairs}));
    if (report_.planned >= golden::kFewestPairs) return true;
    char text[160];
    std::snprintf(text, sizeof text,
                  "the budget of %.1f minutes has room for %d pairs of %.1f s, and %d are needed: "
                  "--budget %.0f, or fewer --steps",
                  input_.options.budgetMinutes, report_.planned, pairSeconds_, golden::kFewestPairs,
                  std::ceil((elapsed() + golden::kFewestPairs * pairSeconds_) / kSecondsPerMinute));
    report_.end = BenchEnd::kBudget;
    report_.reason = text;
    return false;
  }

  void runPairs() {
    const std::vector<golden::Look> looks = golden::planLooks(report_.planned, 1 - input_.options.confidence);
    auto look = looks.begin();
    double spent = 0;
    while (look != looks.end()) {
      const auto count = static_cast<int>(report_.pairs.size());
      const bool late = input_.options.pairs == 0 && count > 0 && elapsed() + pairSeconds_ > budget();
      if (count < look->pairs && !late) {
        BenchPair pair;
        if (!runPair("pair-" + std::to_string(count + 1), pair)) return;
        pair.ratio = golden::timeRatio(blockPairOf(pair, input_.options, perToken_));
        report_.pairs.push_back(std::move(pair));
        save();
        continue;
      }
      // Out of time: what is left of the error is spent on what there is.
      const double error = late ? 1 - input_.options.confidence - spent : look->error;
      spent += error;
      if (lookNow(error) || late) break;
      ++look;
    }
    report_.end = report_.verdict == golden::ThroughputVerdict::kAmbiguous ? BenchEnd::kBudget : BenchEnd::kDecided;
  }

  /// True when it decides.
  bool lookNow(double error) {
    std::vector<golden::BlockPair> pairs;
    for (const BenchPair& pair : report_.pairs) pairs.push_back(blockPairOf(pair, input_.options, perToken_));
    const golden::PairedAnswer answer = golden::answerOf(pairs, input_.options.margin, error);
    for (std::size_t i = 0; i < pairs.size(); ++i) report_.pairs[i].excluded = answer.excluded[i];
    report_.looks.push_back({static_cast<int>(pairs.size()), answer.pairs, error, answer.verdict, answer.reason,
                             ratioOf(answer.time), ratioOf(answer.cycles), ratioOf(answer.mean)});
    report_.verdict = answer.verdict;
    report_.reason = answer.reason;
    save();
    return answer.verdict != golden::ThroughputVerdict::kAmbiguous;
  }

  const BenchInput& input_;
  const FileLock lock_;
  const Clock::time_point start_ = Clock::now();
  ClockSampler clocks_;
  BenchReport report_;
  std::uint64_t counter_ = 0;
  double pairSeconds_ = 0;
  bool perToken_ = false;
  std::map<bool, std::set<std::string>> numbers_;  // of A's blocks (true) and of B's
};

bool isProgram(const fs::path& path) { return fs::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0; }

}  // namespace

golden::BlockPair blockPairOf(const BenchPair& pair, const BenchOptions& options, bool perToken) {
  const auto a = countedSeconds(pair.a, options, perToken), b = countedSeconds(pair.b, options, perToken);
  golden::BlockPair blocks{measureOf(pair.a, a), measureOf(pair.b, b)};
  if (options.turn == 0) return blocks;
  const auto ratio = [&](double (*quantity)(const std::vector<double>&)) {
    std::vector<double> ofA, ofB;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      ofA.push_back(quantity(a[i]));
      ofB.push_back(quantity(b[i]));
    }
    return golden::turnRatio(ofA, ofB, pair.order == "AB");
  };
  blocks.turns = golden::TurnRatio{ratio([](const std::vector<double>& turn) { return golden::quantileOf(turn, 0.5); }),
                                   ratio(meanOf)};
  return blocks;
}

std::string runnerOfBuild(const std::string& path) {
  constexpr const char* kRunner = "redraft-runner";
  const fs::path given = fs::absolute(path);
  if (isProgram(given)) {
    const fs::path beside = given.parent_path() / kRunner;
    return given.filename() == "redraft" && isProgram(beside) ? beside.string() : given.string();
  }
  std::vector<std::string> places;
  for (const char* folder : {"", "bin", "build/bin"}) {
    const fs::path place = (given / folder / kRunner).lexically_normal();
    if (isProgram(place)) return place.string();
    places.push_back(place.string());
  }
  throwBadInput(path, "is no build: there is no program at " + join(places, ", "),
                "name a build folder, or a redraft-runner");
}

BenchReport bench(const BenchInput& input) { return Bench(input).run(); }

}  // namespace redraft::harness
