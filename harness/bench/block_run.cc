#include "harness/bench/block_run.h"

#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "golden/record.h"
#include "golden/run_files.h"
#include "harness/case_runner.h"
#include "harness/judge.h"
#include "harness/run_folder.h"

namespace redraft::harness {
namespace {

/// The event log is read seldom: reading takes a core from what is measured.
constexpr std::chrono::milliseconds kLook{200};

SupervisorOptions supervisorOptions(const BlockOptions& options) {
  SupervisorOptions supervisor;
  supervisor.runner = options.runner;
  supervisor.look = kLook;
  if (!options.capture) supervisor.options = {"--no-capture"};
  return supervisor;
}

Observation superviseBlock(const CasePlan& plan, const std::string& folder, const BlockOptions& options,
                           ClockSampler& clocks) {
  SupervisorOptions supervisor = supervisorOptions(options);
  supervisor.onProgress = [&](const RunProgress& progress) {
    clocks.sample(progress.step >= options.warmup && progress.step < plan.steps);
  };
  clocks.take();
  Observation seen = supervise(folder, plan, supervisor);
  clocks.sample(false);
  return seen;
}

bool allCompleted(const Observation& seen) {
  for (const Observation& other : seen.others)
    if (!completed(other)) return false;
  return completed(seen);
}

std::string failureOf(const Observation& seen, const std::string& folder) {
  const std::vector<std::string> tail = logTail(folder, 1);
  std::string why = seen.end.text() + (tail.empty() ? "" : ", " + tail.back());
  if (!tail.empty() && tail.back().find("--turns") != std::string::npos) why += " (an older build: --apart)";
  return "the run did not complete: " + why + "; see " + folder;
}

std::string numbersOf(const golden::Record& record) {
  std::string text;
  for (const golden::StepMetrics& step : record.steps) {
    text += step.parametersHash;
    for (const auto& [name, value] : step.values) text += " " + name + "=" + toHexFloat(value);
    text += "\n";
  }
  return hashText(text);
}

std::set<std::string> gpusOf(const std::string& folder) {
  std::set<std::string> uuids;
  if (const auto memory = loadMemoryReport(folder))
    for (const golden::ProcessMemory& process : memory->processes) uuids.insert(process.gpu);
  return uuids;
}

void readBlock(const std::string& folder, const CasePlan& plan, BlockRun& run) {
  const golden::Record record = golden::loadRun(folder);
  run.block.seconds = record.stepSeconds;
  for (const golden::StepMetrics& step : record.steps) run.block.tokens.push_back(step.values.at("tokens"));
  run.block.numbers = numbersOf(record);
  if (record.performanceClass) run.performanceClass = record.performanceClass->fields;
  if (static_cast<std::int64_t>(run.block.seconds.size()) != plan.steps)
    run.problem = "the run timed " + std::to_string(run.block.seconds.size()) + " of " + std::to_string(plan.steps) +
                  " steps (" + folder + ")";
}

}  // namespace

BlockRun runBlock(const CasePlan& plan, const std::string& folder, const BlockOptions& options, ClockSampler& clocks) {
  prepareRunFolder(folder, plan, thisEnvironment(plan.pinning));
  const Observation seen = superviseBlock(plan, folder, options, clocks);
  return blockOf(plan, folder, seen, clocks.take());
}

Observation superviseInTurns(const CasePlan& plan, const std::string& folder, const BlockOptions& options,
                             const BlockTurns& turns) {
  CasePlan patient = plan;
  patient.seconds *= 2;  // half of the time is the other's
  prepareRunFolder(folder, plan, thisEnvironment(plan.pinning));
  SupervisorOptions supervisor = supervisorOptions(options);
  supervisor.options.insert(supervisor.options.end(), {"--turns", std::to_string(turns.runnerFd)});
  supervisor.keepFd = turns.runnerFd;
  supervisor.held = turns.held;
  return supervise(folder, patient, supervisor);
}

BlockRun blockOf(const CasePlan& plan, const std::string& folder, const Observation& seen,
                 const std::vector<devices::GpuClock>& clocks) {
  BlockRun run;
  run.block.wallSeconds = seen.seconds;
  run.interrupted = seen.stop == Stop::kInterrupted;
  if (run.interrupted || !allCompleted(seen)) {
    run.problem = failureOf(seen, folder);
    return run;
  }
  try {
    readBlock(folder, plan, run);
    const ClockReading reading = readingOf(clocks, gpusOf(folder));
    run.block.clockMhz = reading.mhz;
    run.block.throttle = reading.slowdown;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kEnvironment) throw;
    run.problem = error.what();
  }
  return run;
}

}  // namespace redraft::harness
