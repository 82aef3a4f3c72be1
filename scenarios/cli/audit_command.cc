#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "harness/affinity/trace_audit.h"
#include "harness/audit.h"
#include "harness/run_folder.h"
#include "harness/trace/load_trace.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

bool isRunFolder(const std::string& path) { return fileExists(joinPath(path, harness::kEventsFile)); }

/// What an audit of a run, of traces, or of both came to.
struct AuditResult {
  std::vector<harness::AuditCheck> run;
  std::optional<harness::TraceAudit> trace;

  bool foundAny() const {
    const auto found = [](const harness::AuditCheck& check) { return check.state == harness::AuditState::kFound; };
    return std::any_of(run.begin(), run.end(), found) || (trace && trace->foundAny());
  }
};

harness::Evidence evidenceOf(const std::string& run) {
  harness::Evidence evidence;
  evidence.seen.log = harness::readEvents(joinPath(run, harness::kEventsFile));
  evidence.topology = harness::topologyOfRun(planOfRun(run).topology, evidence.events());
  evidence.memory = harness::loadMemoryReport(run);
  if (!evidence.seen.log.problem.empty()) throwBadInput(run, "the event log is broken: " + evidence.seen.log.problem);
  if (evidence.events().empty()) throwBadInput(run, "the run recorded no event");
  return evidence;
}

class AuditCommand : public Command {
 public:
  const char* name() const override { return "audit"; }
  const char* help() const override {
    return "Audit what devices did: a trace (Kineto JSON, as torch.profiler exports it), several of one run, a folder "
           "of "
           "them, or a run's folder. Exit 0: nothing found, 1: findings. What cannot be told from a trace is listed as "
           "not "
           "computable";
  }

  void declare(CLI::App& app) override {
    app.add_option("trace", paths_, "traces, or the folder of a run")->required()->type_name("TRACE");
    auto* contract = app.add_option("--contract", contract_, "which role may use which devices, streams and copies");
    contract->type_name("FILE");
    app.add_option("--infer", infer_, "write the contract that this trace fulfils, and audit nothing")
        ->type_name("FILE")
        ->excludes(contract);
    app.add_flag("--json", json_, "one JSON document on standard output");
  }

  int run() override {
    if (!infer_.empty()) return infer();
    const AuditResult result = paths_.size() == 1 && isRunFolder(paths_.front()) ? auditRunFolder() : auditTraces();
    print(result);
    return result.foundAny() ? kExitUnexpected : kExitAsExpected;
  }

 private:
  std::string tracePath() const { return joinPath(paths_.front(), harness::kTraceFolder); }

  AuditResult auditRunFolder() const {
    if (!contract_.empty())
      throwBadInput(contract_, "a run is audited by its own contract",
                    "leave --contract out, or name the run's traces: " + tracePath());
    const harness::Evidence evidence = evidenceOf(paths_.front());
    AuditResult result{harness::auditRun(evidence), std::nullopt};
    if (!fileExists(tracePath())) return result;
    const harness::Contract contract = harness::contractOfRun(planOfRun(paths_.front()).contract, evidence.events());
    result.trace = harness::auditTrace(harness::loadTraces({tracePath()}), &contract);
    return result;
  }

  AuditResult auditTraces() const {
    std::optional<harness::Contract> contract;
    if (!contract_.empty()) contract = harness::loadContract(contract_);
    return {{}, harness::auditTrace(harness::loadTraces(paths_), contract ? &*contract : nullptr)};
  }

  int infer() const {
    const bool ofRun = paths_.size() == 1 && isRunFolder(paths_.front());
    const harness::Trace trace = harness::loadTraces(ofRun ? std::vector{tracePath()} : paths_);
    writeFileAtomically(infer_, harness::contractText(harness::inferContract(trace)));
    printOut("wrote " + infer_ + "; it allows what this trace does, right or wrong: read it before you rely on it\n");
    return kExitAsExpected;
  }

  void print(const AuditResult& result) const {
    if (json_) {
      Json document{{"schema", "redraft.audit/1"}};
      if (!result.run.empty()) document["checks"] = internal::valueToJson(result.run);
      if (result.trace) document["trace"] = recordToJson(*result.trace);
      printOut(pretty(document));
      return;
    }
    for (const harness::AuditCheck& check : result.run) {
      const std::string count = check.count > 0 ? " (" + std::to_string(check.count) + ")" : "";
      printOut(std::string(enumName(check.state)) + count + "  " + check.id + ": " + check.title + "\n");
      for (const std::string& detail : check.details) printOut("    " + detail + "\n");
    }
    if (result.trace) printOut(harness::auditText(*result.trace));
  }

  std::vector<std::string> paths_;
  std::string contract_, infer_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeAuditCommand() { return std::make_unique<AuditCommand>(); }

}  // namespace redraft::scenarios
