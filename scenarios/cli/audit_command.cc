#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "harness/audit.h"
#include "harness/run_folder.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

class AuditCommand : public Command {
 public:
  const char* name() const override { return "audit"; }
  const char* help() const override {
    return "Audit what a run on simulated devices touched: roles, devices, copies, foreign memory. Checks that need a "
           "GPU "
           "trace are listed as not computable";
  }

  void declare(CLI::App& app) override {
    app.add_option("trace", run_, "the folder of a run")->required()->type_name("RUN");
    app.add_option("--contract", contract_, "affinity contract (GPU traces only; a run's topology is its contract)")
        ->type_name("FILE");
    app.add_flag("--json", json_, "one JSON document on standard output");
  }

  int run() override {
    if (!contract_.empty())
      throwBadInput(contract_, "a contract applies to GPU traces, and this version audits runs on simulated devices",
                    "leave --contract out: the run's topology is its contract");
    if (!std::filesystem::is_directory(run_))
      throwBadInput(run_, "not a run folder; this version reads no GPU traces", "name the folder of a run");
    harness::Evidence evidence;
    evidence.topology = planOfRun(run_).topology;
    evidence.seen.log = harness::readEvents(joinPath(run_, harness::kEventsFile));
    evidence.memory = harness::loadMemoryReport(run_);
    if (!evidence.seen.log.problem.empty())
      throwBadInput(run_, "the event log is broken: " + evidence.seen.log.problem);
    if (evidence.events().empty()) throwBadInput(run_, "the run recorded no event");
    const std::vector<harness::AuditCheck> checks = harness::auditRun(evidence);
    print(checks);
    const auto found = [](const harness::AuditCheck& check) { return check.state == harness::AuditState::kFound; };
    return std::any_of(checks.begin(), checks.end(), found) ? kExitUnexpected : kExitAsExpected;
  }

 private:
  void print(const std::vector<harness::AuditCheck>& checks) const {
    if (json_) {
      Json list = Json::array();
      for (const harness::AuditCheck& check : checks) list.push_back(recordToJson(check));
      printOut(pretty(Json{{"schema", "redraft.audit/1"}, {"checks", list}}));
      return;
    }
    for (const harness::AuditCheck& check : checks) {
      const std::string count = check.count > 0 ? " (" + std::to_string(check.count) + ")" : "";
      printOut(std::string(enumName(check.state)) + count + "  " + check.id + ": " + check.title + "\n");
      for (const std::string& detail : check.details) printOut("    " + detail + "\n");
    }
  }

  std::string run_, contract_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeAuditCommand() { return std::make_unique<AuditCommand>(); }

}  // namespace redraft::scenarios
