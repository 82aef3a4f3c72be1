#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "golden/across.h"
#include "golden/drift.h"
#include "harness/interrupt.h"
#include "harness/suite_folder.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/drift_cells.h"

namespace redraft::scenarios {
namespace {

class DriftCommand : public Command {
 public:
  const char* name() const override { return "drift"; }
  const char* help() const override {
    return "Is it the environment that moves the numbers, or the code? Runs old and new code in old and new "
           "environment";
  }

  void declare(CLI::App& app) override {
    app.add_option("--old", old_, "the old build: its redraft, or a folder with bin/redraft or build/bin/redraft")
        ->type_name("BUILD");
    app.add_option("--new", new_, "the new build (default: this program)")->type_name("BUILD");
    app.add_option("--old-env", oldEnvironment_,
                   "isa=avx2|default|avx512, threads=N, libtorch=FOLDER, with commas between; or the folder or "
                   "environment.json of a run (default: the scenario's own)")
        ->type_name("ENV");
    app.add_option("--new-env", newEnvironment_, "likewise")->type_name("ENV");
    app.add_option("--stored", stored_,
                   "a run or golden of the old code in the old environment, in place of running it")
        ->type_name("RUN");
    app.add_option("--repeats", plan_.repeats, "runs of each cell: they have to be equal")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    app.add_option("--run-limit", plan_.seconds, "seconds that a run may take")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("--out", out_, "where the runs go")->type_name("DIR")->capture_default_str();
    app.add_flag("--json", json_, "one JSON document on standard output (redraft.drift/1)");
    app.add_option("scenario", plan_.run, "after --: one scenario, and options of `redraft run`")
        ->required()
        ->type_name("SCENARIO");
    places_.declareGoldens(app);
  }

  int run() override {
    harness::installInterruptHandlers();
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    if (new_.empty()) new_ = self;
    if (old_.empty() && stored_.empty()) old_ = new_;
    if (oldEnvironment_ == newEnvironment_ && old_ == new_ && stored_.empty())
      throwBadInput("--old", "neither code nor environment differs", "give --old, or --old-env and --new-env");
    if (!old_.empty()) requireProgram("--old", old_);
    requireProgram("--new", new_);
    const DriftEnvironment before = readDriftEnvironment(oldEnvironment_), now = readDriftEnvironment(newEnvironment_);
    plan_.out = harness::makeSuiteFolder(out_, "-drift");
    const golden::DriftCells cells = runCells(before, now);
    if (harness::interrupted() != 0) return kExitInterrupted;
    const std::optional<golden::AcrossMeans> means = meansOf(cells);
    const golden::DriftReport report = golden::assessDrift(cells, means ? &*means : nullptr);
    printOut(json_ ? pretty(jsonOf(cells, report)) : golden::describe(cells, report) + notesOn(cells, means));
    return codeOf(report);
  }

 private:
  golden::DriftCells runCells(const DriftEnvironment& before, const DriftEnvironment& now) const {
    golden::DriftCells cells;
    const std::string oldName = old_.empty() ? "the stored run's code" : old_;
    cells[0] = stored_.empty() ? runCell(old_, before, "old-in-old", plan_) : storedCell(stored_, oldName, before);
    // What is the same need not be run again.
    const bool oneEnvironment = before == now, oneCode = old_ == new_ && stored_.empty();
    if (old_.empty())
      cells[1] = {oldName, now.name, "", "--old names no build of it", true, std::nullopt};
    else
      cells[1] = oneEnvironment && stored_.empty() ? cells[0] : runCell(old_, now, "old-in-new", plan_);
    cells[2] = oneCode ? cells[0] : runCell(new_, before, "new-in-old", plan_);
    if (oneEnvironment)
      cells[3] = cells[2];
    else
      cells[3] = oneCode ? cells[1] : runCell(new_, now, "new-in-new", plan_);
    return cells;
  }

  std::string notesOn(const golden::DriftCells& cells, const std::optional<golden::AcrossMeans>& means) const {
    const auto otherClass = [&](const golden::DriftCell& cell) {
      return cell.record && cells[0].record && !(cell.record->numericsClass == cells[0].record->numericsClass);
    };
    const bool unexplained = !means && std::any_of(cells.begin(), cells.end(), otherClass);
    return (unexplained ? "no golden of the scenario says how its numbers answer to rounding, so that a difference of "
                          "environments cannot be explained by it: `redraft bless RUN --perturb N` measures it\n"
                        : std::string()) +
           "runs: " + plan_.out + "\n";
  }

  /// Of a golden of the scenario that says how its numbers answer to rounding.
  std::optional<golden::AcrossMeans> meansOf(const golden::DriftCells& cells) const {
    const std::string root = places_.goldensOrEmpty();
    for (const golden::DriftCell& cell : cells) {
      if (root.empty() || !cell.record) continue;
      const auto golden = golden::findNearestClass(root, cell.record->scenario, cell.record->numericsClass);
      if (golden) return golden::AcrossMeans{golden->arithmetic, golden->responses};
    }
    return std::nullopt;
  }

  Json jsonOf(const golden::DriftCells& cells, const golden::DriftReport& report) const {
    Json json = {{"schema", golden::kDriftSchema}, {"answer", enumName(report.answer)}, {"because", report.because}};
    json["folder"] = plan_.out;
    json["cells"] = Json::array();
    for (const golden::DriftCell& cell : cells) {
      Json one = {
          {"code", cell.code}, {"environment", cell.environment}, {"commit", cell.commit}, {"steady", cell.steady}};
      if (cell.record)
        one["numerics_class"] = cell.record->numericsClass.name();
      else
        one["missing"] = cell.missing;
      json["cells"].push_back(std::move(one));
    }
    json["differences"] = Json::array();
    for (const golden::DriftEdge& edge : report.edges) json["differences"].push_back(recordToJson(edge));
    return json;
  }

  /// As expected: nothing differs, or the environment alone and no more than rounding explains.
  static int codeOf(const golden::DriftReport& report) {
    if (report.answer == golden::DriftAnswer::kNone) return kExitAsExpected;
    if (report.answer != golden::DriftAnswer::kEnvironment) return kExitUnexpected;
    for (const golden::DriftEdge& edge : report.edges)
      if (edge.differs.value_or(false) && !edge.explained.value_or(false)) return kExitUnexpected;
    return kExitAsExpected;
  }

  Places places_;
  DriftPlan plan_;
  std::string old_, new_, oldEnvironment_, newEnvironment_, stored_;
  std::string out_ = "runs";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeDriftCommand() { return std::make_unique<DriftCommand>(); }

}  // namespace redraft::scenarios
