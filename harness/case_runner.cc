#include "harness/case_runner.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/pinned_environment.h"
#include "base/version.h"
#include "golden/golden.h"
#include "golden/quantile.h"
#include "harness/attribution.h"
#include "harness/judge.h"
#include "harness/ranks.h"
#include "harness/run_folder.h"
#include "harness/symbolise.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kTailLines = 40;
constexpr std::size_t kStackLines = 1000;  // a stack of up to 65 lines for every role

std::optional<double> lossOf(const golden::StepMetrics& step) {
  const auto loss = step.values.find("loss");
  return loss == step.values.end() ? std::nullopt : std::optional(loss->second);
}

bool saysHowItEnded(const reports::Finding& finding) {
  for (const char* family : {"hang/", "crash/", "exception/", "ranks/"})
    if (finding.id.starts_with(family)) return true;
  return false;
}

/// What can be read of a run, and why the rest cannot.
struct Gathered {
  std::optional<golden::Record> record;
  std::string recordProblem;
  std::string goldenProblem;
  std::string goldenText;
  std::optional<golden::ThroughputComparison> throughput;
};

void gatherRecord(const std::string& folder, Evidence& evidence, Gathered& gathered) {
  try {
    evidence.memory = loadMemoryReport(golden::rankFolder(folder, evidence.seen.rank));
    gathered.record = golden::loadRun(folder);
  } catch (const Error& error) {
    gathered.recordProblem = error.what();
  }
}

/// With the golden of the nearest class that says how its numbers answer to rounding. False: nothing can be said, and
/// goldenText says why where there is such a golden.
bool compareWithOtherClass(const CasePlan& plan, const CaseOptions& options, Evidence& evidence, Gathered& gathered) {
  if (!plan.arithmetic) return false;
  const auto golden = golden::findNearestClass(options.goldens, plan.golden, gathered.record->numericsClass);
  if (!golden) return false;
  const golden::AcrossComparison across = golden::compareAcross(*golden, *gathered.record, *plan.arithmetic);
  gathered.goldenText = plan.golden + " (" + golden->record.numericsClass.name() + "): " + golden::summaryOf(across);
  if (across.outcome == golden::Outcome::kIncomparable) return false;
  evidence.across = across;
  return true;
}

void compareWithGolden(const CasePlan& plan, const CaseOptions& options, Evidence& evidence, Gathered& gathered) {
  // A run that was cut short is short of steps: that is no second finding beside its cause.
  if (plan.golden.empty() || !gathered.record || !completed(evidence.seen)) return;
  const std::string bless = "; `redraft bless RUN --reason \"…\"` makes one";
  if (options.goldens.empty()) {
    gathered.goldenProblem = "no folder golden/data was found" + bless;
    return;
  }
  try {
    std::vector<std::string> others;
    const auto golden = golden::findNumerics(options.goldens, plan.golden, gathered.record->numericsClass, &others);
    if (golden) {
      evidence.comparison = golden::compareNumerics(golden->record, *gathered.record);
      gathered.goldenText =
          plan.golden + " (" + gathered.record->numericsClass.name() + "): " +
          (evidence.comparison->outcome == golden::Outcome::kEqual
               ? "equal bit for bit"
               : "differs; where that is meant, `redraft bless --review '" + gathered.record->origin + "'`");
    } else if (!compareWithOtherClass(plan, options, evidence, gathered)) {
      gathered.goldenProblem = "no golden of " + plan.golden + " for the class " +
                               gathered.record->numericsClass.name() +
                               (others.empty() ? "" : "; there are " + join(others, ", ")) +
                               (gathered.goldenText.empty() ? "" : "; " + gathered.goldenText) + bless;
    }
    if (gathered.record->performanceClass)
      if (const auto perf = golden::findPerformance(options.goldens, plan.golden, *gathered.record->performanceClass))
        gathered.throughput = golden::compareThroughput(perf->record, *gathered.record);
  } catch (const Error& error) {
    gathered.goldenProblem = std::string("the golden cannot be read: ") + error.what();
  }
}

reports::Pace paceOf(const golden::Record& record) {
  reports::Pace pace;
  if (record.stepSeconds.empty()) return pace;
  for (const double part : {0.25, 0.5, 0.75}) pace.stepSeconds.push_back(golden::quantileOf(record.stepSeconds, part));
  for (const auto& [drafter, waits] : record.waits) {
    pace.featureWait[drafter] = golden::medianOf(waits.features);
    pace.gradientWait[drafter] = golden::medianOf(waits.gradients);
  }
  pace.bottleneck = reports::bottleneckOf(pace);
  return pace;
}

/// Against the case that the plan names, where the suite has run it.
std::optional<reports::Scaling> scalingOf(const CasePlan& plan, const std::optional<reports::Figures>& base,
                                          const reports::Figures& own) {
  if (plan.scalingOf.empty() || !base) return std::nullopt;
  const auto rate = [](const reports::Figures& figures) {
    const auto all = figures.tokensPerSecond.find("all");
    return all == figures.tokensPerSecond.end() ? 0.0 : all->second;
  };
  return reports::scalingOf(plan.scalingOf, base->pace, rate(*base), own.pace, rate(own));
}

reports::Figures figuresOf(const Observation& seen, const Gathered& gathered) {
  reports::Figures figures;
  figures.seconds = seen.seconds;
  for (const Event& event : seen.log.events)
    if (event.as<StepDone>() != nullptr) figures.steps = std::max(figures.steps, event.head.step + 1);
  if (!gathered.record) return figures;
  const golden::Record& record = *gathered.record;
  figures.steps = static_cast<std::int64_t>(record.steps.size());
  for (const auto& [role, samples] : record.samples)
    if (!samples.tokensPerSecond.empty()) figures.tokensPerSecond[role] = golden::medianOf(samples.tokensPerSecond);
  if (!record.steps.empty()) {
    figures.firstLoss = lossOf(record.steps.front());
    figures.lastLoss = lossOf(record.steps.back());
  }
  if (record.evaluation) figures.acceptLength = record.evaluation->meanAcceptLength;
  for (const auto& [device, bytes] : record.peakBytes) figures.peakBytes[std::to_string(device)] = bytes;
  if (gathered.throughput)
    for (const auto& role : gathered.throughput->roles) figures.throughputRatio[role.role] = role.ratio;
  figures.pace = paceOf(record);
  figures.numericsClass = record.numericsClass.fields;
  if (record.performanceClass) figures.performanceClass = record.performanceClass->fields;
  return figures;
}

Evidence evidenceOf(const CasePlan& plan, const std::string& folder, Observation seen) {
  Evidence evidence;
  evidence.seen = std::move(seen);
  evidence.topology = topologyOfRun(plan.topology, evidence.events());
  const std::string own = golden::rankFolder(folder, evidence.seen.rank);
  evidence.logTail = logTail(own, kTailLines);
  evidence.stacks = runnerStacks(symboliseFrames(logTail(own, kStackLines)));
  evidence.trace = auditRunTrace(own, plan.contract, evidence.events());
  return evidence;
}

Observation takeOut(std::vector<Observation>& ranks, std::size_t index) {
  Observation taken = std::move(ranks[index]);
  ranks.erase(ranks.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

/// How a run ended is said once, by the decisive rank's findings; the others add what their processes did wrong beside
/// that, and a line each on where they were.
void addOtherRanks(const CasePlan& plan, const std::string& folder, const Observation& decisive,
                   std::vector<Observation> others, std::vector<reports::Finding>& findings,
                   std::map<int, RunTrace>& traces) {
  const auto place = [](int rank, reports::Finding& finding) {
    finding.title = "rank " + std::to_string(rank) + ": " + finding.title;
  };
  for (reports::Finding& each : findings) place(decisive.rank, each);
  for (Observation& other : others) {
    if (!findings.empty()) findings.front().details.push_back(rankLine(other));
    Evidence evidence = evidenceOf(plan, folder, std::move(other));
    const std::string memory = golden::rankFolder(folder, evidence.seen.rank);
    evidence.memory = loadMemoryReport(memory);
    for (reports::Finding& each : attribute(evidence)) {
      if (saysHowItEnded(each)) continue;
      place(evidence.seen.rank, each);
      findings.push_back(std::move(each));
    }
    traces[evidence.seen.rank] = std::move(evidence.trace);
  }
}

std::string field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "unknown";
}

}  // namespace

std::string digestOf(const golden::Record& record) {
  std::string text;
  for (const golden::StepMetrics& step : record.steps) {
    text += std::to_string(step.step) + " " + step.parametersHash;
    for (const auto& [name, value] : step.values) text += " " + name + "=" + toHexFloat(value);
    text += "\n";
  }
  for (const auto& step : record.gradients)
    for (const golden::GradientDigest& digest : step) text += digest.hash + "\n";
  if (record.evaluation) text += record.evaluation->textHash;
  return hashText(text);
}

reports::CaseResult plannedResult(const CasePlan& plan, const std::string& folder) {
  reports::CaseResult result;
  result.name = plan.name;
  result.description = plan.description;
  result.source = plan.source;
  result.expected = plan.expected;
  result.reason = "it has not ended";
  result.runFolder = folder;
  result.replay = "redraft replay '" + folder + "'";
  return result;
}

reports::CaseResult assessCase(const CasePlan& plan, const std::string& folder, Observation seen,
                               const CaseOptions& options) {
  std::vector<Observation> ranks = ranksOf(std::move(seen));
  Evidence evidence = evidenceOf(plan, folder, takeOut(ranks, decisiveRank(ranks)));
  Gathered gathered;
  gatherRecord(folder, evidence, gathered);
  compareWithGolden(plan, options, evidence, gathered);

  reports::CaseResult result = plannedResult(plan, folder);
  result.findings = attribute(evidence);
  std::map<int, RunTrace> traces = {{evidence.seen.rank, evidence.trace}};
  if (!ranks.empty()) addOtherRanks(plan, folder, evidence.seen, std::move(ranks), result.findings, traces);
  const std::int64_t steps = gathered.record ? static_cast<std::int64_t>(gathered.record->steps.size()) : 0;
  const Judgement judgement = judge({evidence, result.findings, gathered.recordProblem, steps, plan.steps,
                                     problemOf(traces), !plan.golden.empty(), gathered.goldenProblem});
  result.verdict = judgement.verdict;
  result.reason = judgement.reason;
  result.golden = gathered.goldenText;
  result.audit = summaryOf(traces);
  result.ended =
      (plan.processes > 1 ? "rank " + std::to_string(evidence.seen.rank) + ": " : "") + evidence.seen.end.text();
  result.figures = figuresOf(evidence.seen, gathered);
  result.figures.pace.scaling = scalingOf(plan, options.scalingBase, result.figures);
  if (gathered.record) result.digest = digestOf(*gathered.record);
  writeFileAtomically(joinPath(folder, kResultFile), pretty(recordToJson(result)));
  return result;
}

reports::CaseResult runCase(const CasePlan& plan, const std::string& folder, const CaseOptions& options) {
  try {
    prepareRunFolder(folder, plan, options.environment);
    return assessCase(plan, folder, supervise(folder, plan, options.supervisor), options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kEnvironment) throw;
    reports::CaseResult result = plannedResult(plan, folder);
    result.verdict = reports::Verdict::kError;
    result.reason = error.what();
    return result;
  }
}

golden::EnvironmentReport thisEnvironment(const Pinning& pinning) {
  golden::EnvironmentReport report;
  report.version = versionText();
  report.commit = commitText();
  report.variables = pinnedEnvironment(pinning);
  report.performanceClass["cpu"] = field("/proc/cpuinfo", "model name");
  report.performanceClass["cores"] = std::to_string(::sysconf(_SC_NPROCESSORS_ONLN));
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  report.performanceClass["memory_gib"] = std::to_string((pages / 1024 * page + (1 << 19)) >> 20);
  return report;
}

}  // namespace redraft::harness
