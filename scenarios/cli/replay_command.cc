#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "harness/interrupt.h"
#include "harness/replay.h"
#include "reports/printers.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

/// `redraft replay --json`.
struct ReplayReport {
  std::string schema = "redraft.replay/1";
  bool same = false;
  std::string text;
  std::optional<reports::CaseResult> before;
  reports::CaseResult now;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("same", same);
    visit("text", text);
    visit("before", before);
    visit("now", now);
  }
};

std::string findProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    std::string program = joinPath(folder, name);
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  throw Error(ErrorKind::kEnvironment, name, "is not installed", "install it, or replay without --debugger");
}

class ReplayCommand : public Command {
 public:
  const char* name() const override { return "replay"; }
  const char* help() const override {
    return "Run a recorded run again from its folder alone, and say whether the same came back";
  }

  void declare(CLI::App& app) override {
    app.add_option("run", recorded_, "the folder of a run; it may have been moved")->required()->type_name("RUN");
    app.add_option("--out", out_, "where the new run goes")->type_name("DIR")->capture_default_str();
    app.add_option("--op-digests", opDigests_,
                   "keep digests of every operation of these steps, for `redraft divergence`")
        ->type_name("FIRST:LAST");
    app.add_flag("--debugger", debugger_, "start the run under gdb, on this terminal");
    app.add_flag("--json", json_, "one JSON document on standard output");
    places_.declareGoldens(app);
    places_.declareRunner(app);
  }

  int run() override {
    if (isSuiteFolder(recorded_)) throwBadInput(recorded_, "is a whole suite", "name the folder of one of its cases");
    const harness::CasePlan plan = planOfRun(recorded_);
    harness::installInterruptHandlers();
    harness::CaseOptions options = places_.caseOptions();
    if (!opDigests_.empty()) options.supervisor.options = {"--op-digests", opDigests_};
    if (debugger_) options.supervisor.wrapper = {findProgram("gdb"), "-q", "--args"};
    const harness::ReplayResult result = harness::replayRun(plan, recorded_, out_, options);
    if (json_) {
      printOut(
          pretty(recordToJson(ReplayReport{"redraft.replay/1", result.same, result.text, result.before, result.now})));
    } else {
      printOut(reports::printCase(result.now, {outputIsTerminal()}) + "\nreplay: " + result.text + "\n");
    }
    if (harness::interrupted() != 0) return kExitInterrupted;
    return result.same ? kExitAsExpected : kExitUnexpected;
  }

 private:
  Places places_;
  std::string recorded_, opDigests_, out_ = "runs";
  bool debugger_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeReplayCommand() { return std::make_unique<ReplayCommand>(); }

}  // namespace redraft::scenarios
