#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "harness/bisect/bisect.h"
#include "harness/interrupt.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"

namespace redraft::scenarios {
namespace {

/// Only the two programs: tests and benchmarks of each commit would take ten times as long.
constexpr const char* kBuild =
    "tools/setup && "
    "{ test -f build/build.ninja || cmake --preset dev -DREDRAFT_TESTS=OFF -DREDRAFT_BENCH=OFF; } && "
    "cmake --build build -j \"$(make -s print-jobs)\" --target redraft redraft-runner";

class BisectCommand : public Command {
 public:
  const char* name() const override { return "bisect"; }
  const char* help() const override {
    return "Find the commit that broke a scenario, or made it slow, over git bisect run and although runs may mislead";
  }

  void declare(CLI::App& app) override {
    app.add_option("good", plan_.good, "a commit where it was well")->required()->type_name("GOOD");
    app.add_option("bad", plan_.bad, "a later one where it is not")->required()->type_name("BAD");
    app.add_option("scenario", plan_.run, "after --: one scenario, and options of `redraft run`")
        ->required()
        ->type_name("SCENARIO");
    app.add_flag("--throughput", plan_.throughput, "bad means slower than GOOD, not failing as BAD does");
    app.add_option("--threshold", plan_.ratio,
                   "with --throughput: bad is below this part of GOOD's median tokens/s (default: halfway to BAD's)")
        ->type_name("RATIO")
        ->check(CLI::Range(0.01, 0.999));
    app.add_option("--misleading", plan_.misleading, "part of the runs that may say the opposite of what is true")
        ->type_name("RATE")
        ->check(CLI::Range(0.0, 0.45))
        ->capture_default_str();
    app.add_option("--error", plan_.error, "how often the culprit may be the wrong one, given that")
        ->type_name("RATE")
        ->check(CLI::Range(0.000001, 0.4))
        ->capture_default_str();
    app.add_option("--repeats", plan_.repeats, "most runs of one commit; undecided then, it is skipped")
        ->type_name("N")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    declareBuild(app);
    app.add_flag("--json", json_, "one JSON document on standard output (redraft.bisect/1)");
  }

  int run() override {
    harness::installInterruptHandlers();
    if (plan_.ratio && !plan_.throughput) throwBadInput("--threshold", "needs --throughput");
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const harness::BisectReport report = harness::bisect(plan_, std::filesystem::current_path().string(), out_, self);
    printOut(json_ ? pretty(recordToJson(report)) : harness::describe(report));
    if (harness::interrupted() != 0) return kExitInterrupted;
    return report.problem.empty() && report.suspects.size() == 1 ? kExitAsExpected : kExitUnexpected;
  }

 private:
  void declareBuild(CLI::App& app) {
    app.add_option("--build", plan_.build, "shell command that builds a commit, run in its root")
        ->type_name("COMMAND")
        ->capture_default_str();
    app.add_option("--program", plan_.program, "what the build makes of `redraft`")
        ->type_name("PATH")
        ->capture_default_str();
    app.add_option("--build-limit", plan_.buildSeconds, "seconds that a build may take")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("--run-limit", plan_.runSeconds, "seconds that a run may take")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("--out", out_, "where the record goes, and meanwhile the clone that is built")
        ->type_name("DIR")
        ->capture_default_str();
  }

  static harness::BisectPlan defaultPlan() {
    harness::BisectPlan plan;
    plan.build = kBuild;
    plan.program = "build/bin/redraft";
    return plan;
  }

  harness::BisectPlan plan_ = defaultPlan();
  std::string out_ = "runs";
  bool json_ = false;
};

/// What `git bisect run` calls. Any code below 128 but 0 and 125 would count as bad: no error may end in one.
class BisectStepCommand : public Command {
 public:
  const char* name() const override { return "bisect-step"; }
  const char* help() const override { return "Judge the commit that is checked out (called by git, for bisect)"; }

  void declare(CLI::App& app) override {
    app.group("");  // not in the help
    app.add_option("folder", folder_, "of the bisection")->required()->type_name("FOLDER");
  }

  int run() override {
    harness::installInterruptHandlers();
    try {
      return harness::bisectStep(folder_);
    } catch (const std::exception& error) {
      log(LogLevel::kError, error.what());
      return harness::kStepAbort;
    }
  }

 private:
  std::string folder_;
};

}  // namespace

std::unique_ptr<Command> makeBisectCommand() { return std::make_unique<BisectCommand>(); }
std::unique_ptr<Command> makeBisectStepCommand() { return std::make_unique<BisectStepCommand>(); }

}  // namespace redraft::scenarios
