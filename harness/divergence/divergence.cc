#include "harness/divergence/divergence.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "harness/judge.h"
#include "harness/run_folder.h"
#include "harness/suite_folder.h"
#include "harness/supervisor.h"

namespace redraft::harness {
namespace {

/// Steps whose operations tell where the difference came from: from the one after whose predecessor the parameters are
/// known to be equal, and always the one before the first difference, because drafters but the first store nothing.
golden::OpLogHeader stepsToRecord(const golden::StepDivergence& found, std::int64_t steps, std::int64_t window) {
  golden::OpLogHeader range;
  range.last = std::min(*found.step, steps - 1);
  range.first = std::max({std::int64_t{0}, std::min(found.lastEqual, range.last - 1), range.last + 1 - window});
  return range;
}

/// What a run folder holds already, where it has all of these steps.
std::optional<golden::OpLog> storedLog(const DivergenceInput& input, const golden::OpLogHeader& range) {
  if (input.golden || !golden::hasOpLog(input.path)) return std::nullopt;
  golden::OpLog log = golden::loadOpLog(input.path, input.plan ? input.plan->processes : 1);
  const bool whole = log.header.first <= range.first && range.last <= log.header.last;
  return whole ? std::optional(std::move(log)) : std::nullopt;
}

std::string lastWords(const std::string& folder) {
  const std::vector<std::string> tail = logTail(folder, 1);
  return tail.empty() ? "it said nothing" : tail.back();
}

class Search {
 public:
  explicit Search(const DivergencePlan& plan) : plan_(plan) {
    report_.a = sideOf(plan.a);
    report_.b = sideOf(plan.b);
  }

  DivergenceReport run() {
    const golden::StepDivergence found = golden::divergedStep(plan_.a.record, plan_.b.record);
    report_.same = found.comparison.outcome == golden::Outcome::kEqual;
    report_.incomparable = found.comparison.reason;
    report_.step = found.step;
    report_.stage = found.stage;
    if (!found.comparison.gradients.empty()) report_.parameter = found.comparison.gradients.front().parameter;
    if (found.step && found.stage != "evaluation") compareOperations(found);
    report_.text = divergenceText(report_);
    if (!suite_.empty()) keep();
    return std::move(report_);
  }

 private:
  static DivergenceSide sideOf(const DivergenceInput& input) {
    DivergenceSide side;
    side.path = input.path;
    side.kind = input.golden ? "golden" : "run";
    side.commit = input.commit;
    return side;
  }

  void keep() const {
    writeFileAtomically(joinPath(suite_, kDivergenceFile), pretty(recordToJson(report_)));
    writeFileAtomically(joinPath(suite_, kReportPage), divergencePage(report_));
  }

  void compareOperations(const golden::StepDivergence& found) {
    const auto steps = static_cast<std::int64_t>(std::min(plan_.a.record.steps.size(), plan_.b.record.steps.size()));
    const golden::OpLogHeader range = stepsToRecord(found, steps, plan_.window);
    // Both or none: operations of one side alone tell nothing.
    std::optional<golden::OpLog> a = storedLog(plan_.a, range), b = storedLog(plan_.b, range);
    const bool can = (a || canRun(plan_.a, report_.a)) & (b || canRun(plan_.b, report_.b));
    if (!can) return;
    if (!a) a = runAgain(plan_.a, "a", range, report_.a);
    if (!b) b = runAgain(plan_.b, "b", range, report_.b);
    report_.recorded = {range.first, range.last};
    a->header.first = b->header.first = range.first;
    a->header.last = b->header.last = range.last;
    const golden::OpDivergence op = golden::divergedOp(*a, *b);
    report_.verdict = op.verdict;
    report_.ofA = op.a;
    report_.ofB = op.b;
    report_.inputs = op.inputs;
    report_.outputs = op.outputs;
    report_.others = op.others;
    report_.compared = op.compared;
    report_.differing = op.differing;
    report_.unmatched = op.unmatched;
  }

  static bool canRun(const DivergenceInput& input, DivergenceSide& side) {
    if (!input.plan) side.problem = input.why;
    return input.plan.has_value();
  }

  golden::OpLog runAgain(const DivergenceInput& input, const std::string& name, const golden::OpLogHeader& range,
                         DivergenceSide& side) {
    if (suite_.empty()) suite_ = makeSuiteFolder(plan_.out, "-divergence");
    side.again = joinPath(suite_, name);
    prepareRunFolder(side.again, *input.plan, plan_.options.environment);
    SupervisorOptions options = plan_.options.supervisor;
    options.runner = input.runner;
    options.options = {"--op-digests", std::to_string(range.first) + ":" + std::to_string(range.last), "--stop-after",
                       std::to_string(range.last), "--no-capture"};
    ++report_.furtherRuns;
    const Observation seen = supervise(side.again, *input.plan, options);
    if (!completed(seen))
      throw Error(ErrorKind::kEnvironment, side.again,
                  "the further run did not come to its end: " + lastWords(side.again),
                  "see its runner.log; a runner of before there were op digests does not know --op-digests");
    side.unlikeAt = golden::firstUnlike(input.record, golden::loadRun(side.again), range.last);
    return golden::loadOpLog(side.again, input.plan->processes);
  }

  const DivergencePlan& plan_;
  DivergenceReport report_;
  std::string suite_;
};

}  // namespace

DivergenceReport findDivergence(const DivergencePlan& plan) { return Search(plan).run(); }

}  // namespace redraft::harness
