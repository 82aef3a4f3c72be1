#include <CLI/CLI.hpp>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/text.h"
#include "harness/bench/bench.h"
#include "harness/interrupt.h"
#include "harness/supervisor.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

constexpr int kFewestMeasured = 3;     // steps of a block behind its warm-up
constexpr int kTurn = 4, kTurns = 16;  // steps of a turn, and turns of a block, where nobody says

/// A name, or a file below the folder of scenarios.
std::string scenarioName(const std::string& given, const std::string& root) {
  if (!given.ends_with(".json")) return given;
  const std::filesystem::path files = std::filesystem::absolute(root) / "files";
  std::string name = std::filesystem::absolute(given)
                         .lexically_relative(files.lexically_normal())
                         .replace_extension()
                         .generic_string();
  if (name.empty() || name.starts_with(".."))
    throwBadInput(given, "is not below " + files.string(), "name its folder of scenarios by --scenarios");
  return name;
}

class BenchCommand : public Command {
 public:
  const char* name() const override { return "bench"; }
  const char* help() const override {
    return "Which of two builds, or of two scenarios, is faster: runs them in turns until it is sure";
  }

  void declare(CLI::App& app) override {
    app.add_option("a", a_, "the one to compare with: with --scenario a build, else a scenario")
        ->required()
        ->type_name("A");
    app.add_option("b", b_, "the one in question, likewise")->required()->type_name("B");
    app.add_option("--scenario", scenario_,
                   "A and B are builds (a build folder, or a redraft-runner) that run this scenario; without it, "
                   "they are scenarios (names, or files) that one build runs")
        ->type_name("NAME");
    app.add_option("--margin", marginPercent_, "percent that a difference has to reach to matter")
        ->check(CLI::Range(0.01, 50.0))
        ->capture_default_str();
    app.add_option("--confidence", confidencePercent_, "percent of benches whose interval holds the true ratio")
        ->check(CLI::Range(50.0, 99.99))
        ->capture_default_str();
    app.add_option("--budget", options_.budgetMinutes, "minutes for all of it; it stops as soon as it is sure")
        ->type_name("MINUTES")
        ->check(CLI::Range(0.01, 10000.0))
        ->capture_default_str();
    app.add_option("--pairs", options_.pairs, "so many pairs at most, whatever the budget")
        ->type_name("N")
        ->check(CLI::Range(golden::kFewestPairs, 1000));
    declareRuns(app);
  }

  int run() override {
    harness::installInterruptHandlers();
    const harness::BenchReport report = harness::bench(input());
    printOut(json_ ? pretty(recordToJson(report)) : harness::describe(report));
    if (report.end == harness::BenchEnd::kInterrupted) return kExitInterrupted;
    const bool fine =
        report.verdict == golden::ThroughputVerdict::kFaster || report.verdict == golden::ThroughputVerdict::kSame;
    return fine ? kExitAsExpected : kExitUnexpected;
  }

 private:
  void declareRuns(CLI::App& app) {
    app.add_option("--steps", steps_, "of each run (default: enough for 16 turns; with --apart, as the scenario says)")
        ->type_name("N")
        ->check(CLI::Range(kFewestMeasured + 1, 1000000));
    app.add_option("--warmup", options_.warmup,
                   "steps at the head of each run that do not count (default: a quarter of them, or of the scenario's)")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000));
    app.add_option("--turn", turn_, "steps after which the other one has its turn")
        ->type_name("N")
        ->check(CLI::Range(kFewestMeasured, 1000000))
        ->capture_default_str();
    app.add_flag("--apart", apart_,
                 "run one after the other, not both at once by turns: where there is no memory for both, or a build is "
                 "older than `redraft-runner run --turns`");
    app.add_option("--seed", seed_, "of the order of A and B in each pair (default: another each time)")
        ->type_name("N");
    app.add_option("--backend", backend_, "run both on these devices (default: as the scenarios say)")
        ->check(CLI::IsMember({"sim", "cuda"}));
    app.add_flag("--capture", capture_, "on cuda: measure with the capture of devices on (trace/)");
    app.add_flag("--keep", options_.keep, "keep the run folders");
    app.add_option("--out", out_, "where the record goes")->type_name("DIR")->capture_default_str();
    app.add_flag("--json", json_, "one JSON document on standard output (redraft.bench/1)");
    places_.declareScenarios(app);
    places_.declareRunner(app);
  }

  harness::BenchInput input() {
    harness::BenchInput input;
    options_.margin = marginPercent_ / 100;
    options_.confidence = confidencePercent_ / 100;
    options_.seed = seed_ ? *seed_ : std::random_device()();
    input.a.name = a_;
    input.b.name = b_;
    setPrograms(input);
    const std::vector<StoredScenario> all = places_.loadScenarios();
    Scenario a = scenarioFor(scenario_.empty() ? a_ : scenario_, all, input.a);
    Scenario b = scenarioFor(scenario_.empty() ? b_ : scenario_, all, input.b);
    setSteps(a, b);
    input.planA = planOf(a);
    input.planB = planOf(b);
    input.options = options_;
    input.capture = capture_;
    input.out = out_;
    return input;
  }

  void setPrograms(harness::BenchInput& input) const {
    for (harness::BenchSide* side : {&input.a, &input.b}) {
      if (scenario_.empty()) {
        if (std::filesystem::is_directory(side->name) ||
            std::filesystem::path(side->name).filename() == "redraft-runner")
          throwBadInput(side->name, "is a build, and no scenario is named", "add --scenario NAME");
        side->runner = harness::findRunner(places_.runner);
      } else {
        side->runner = harness::runnerOfBuild(side->name);
      }
    }
    if (!scenario_.empty() && !places_.runner.empty())
      throwBadInput("--runner", "A and B are the programs already", "leave it out, or leave out --scenario");
  }

  Scenario scenarioFor(const std::string& given, const std::vector<StoredScenario>& all,
                       harness::BenchSide& side) const {
    const std::string root = findScenarios(places_.scenarios, std::filesystem::current_path().string());
    std::vector<Scenario> chosen = {findScenario(all, scenarioName(given, root)).scenario};
    Scenario& scenario = chosen.front();
    if (scenario.workload != "training") throwBadInput(scenario.name, "has no steps to time", "name a training one");
    scenario.evaluate.reset();  // it comes after the last step, and would be waited for
    if (!backend_.empty()) moveTo(backend_, chosen);
    side.scenario = scenario.name;
    return scenario;
  }

  void setSteps(Scenario& a, Scenario& b) {
    // Ranks cannot be made to wait at one step: each would leave the other's device a collective to spin in.
    options_.turn = apart_ || a.processes > 1 || b.processes > 1 ? 0 : turn_;
    const std::int64_t own = std::min(a.training.steps, b.training.steps), given = steps_ ? *steps_ : own;
    if (options_.warmup == 0) options_.warmup = static_cast<int>((given + 3) / 4);
    for (Scenario* scenario : {&a, &b}) {
      if (steps_) scenario->training.steps = *steps_;
      if (!steps_ && options_.turn > 0) scenario->training.steps = options_.warmup + kTurns * options_.turn + 1;
    }
    const std::int64_t steps = std::min(a.training.steps, b.training.steps);
    const int fewest = options_.turn > 0 ? options_.turn + 1 : kFewestMeasured;  // in the last one a run ends
    if (steps < options_.warmup + fewest)
      throwBadInput(steps_ ? "--steps" : "--warmup",
                    std::to_string(steps) + " steps, of which " + std::to_string(options_.warmup) + " do not count",
                    "leave at least " + std::to_string(fewest) + " that count");
  }

  std::string a_, b_, scenario_, backend_, out_ = "runs";
  double marginPercent_ = 1, confidencePercent_ = 99;
  std::optional<int> steps_;
  std::optional<std::uint64_t> seed_;
  int turn_ = kTurn;
  bool apart_ = false, capture_ = false, json_ = false;
  harness::BenchOptions options_;
  Places places_;
};

}  // namespace

std::unique_ptr<Command> makeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace redraft::scenarios
