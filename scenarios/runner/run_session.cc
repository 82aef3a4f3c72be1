#include "scenarios/runner/run_session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "devices/sim/work_times.h"
#include "harness/trace/driver_trace.h"
#include "model/checkpoint.h"
#include "model/kernels/attention.h"
#include "model/pipeline/micro_batch_plan.h"
#include "scenarios/faults/fault.h"
#include "scenarios/runner/attention_moves.h"
#include "scenarios/runner/kernel_cache_session.h"
#include "scenarios/runner/materials.h"
#include "scenarios/runner/numerics.h"
#include "scenarios/runner/rank_meeting.h"
#include "scenarios/runner/run_backend.h"
#include "scenarios/runner/run_events.h"
#include "scenarios/runner/session_parts.h"

namespace redraft::scenarios {

namespace {

std::vector<std::string> parameterNames(const model::DrafterConfig& config) {
  std::vector<std::string> names;
  for (const model::ParameterSpec& spec : model::drafterParameters(config)) names.push_back(spec.name);
  return names;
}

model::WorkerPart partOf(const Scenario& scenario, const LaunchEnvironment& launch) {
  return model::partOfRank(scenario.topology.workers("target"), scenario.topology.workers("drafter"), launch.rank,
                           launch.worldSize);
}

std::vector<std::string> rolesOf(const model::WorkerPart& part) {
  std::vector<std::string> roles;
  for (int i = part.firstTarget; i < part.lastTarget; ++i) roles.push_back("target[" + std::to_string(i) + "]");
  for (int i = part.firstDrafter; i < part.lastDrafter; ++i) roles.push_back("drafter[" + std::to_string(i) + "]");
  return roles;
}

/// Those of this machine: launchers number them one after another.
devices::Processes processesOf(const Scenario& scenario, LaunchEnvironment launch) {
  devices::Processes processes;
  processes.self = static_cast<std::size_t>(launch.localRank);
  const int first = launch.rank - launch.localRank, count = launch.localWorldSize.value_or(launch.worldSize - first);
  for (launch.rank = first; launch.rank < first + count; ++launch.rank)
    processes.roles.push_back(rolesOf(partOf(scenario, launch)));
  return processes;
}

class Session {
 public:
  Session(const Scenario& scenario, const RunOptions& options, RunBackend& backend, std::unique_ptr<Fault> fault,
          std::unique_ptr<harness::CapturedRun> capture)
      : scenario_(scenario),
        options_(options),
        backend_(backend),
        driver_(backend.driver()),
        materials_(loadMaterials(scenario, options.folder, backend)),
        monitor_(std::chrono::milliseconds(static_cast<std::int64_t>(2000 * scenario.limits.hangSeconds))),
        cache_(driver_, backend.compiler()),
        declarations_(driver_),
        fault_(std::move(fault)),
        capture_(std::move(capture)) {
    configureCache(cache_, scenario.kernelCache);
    model::setCompiledAttention(scenario.kernelCache.compiled);
    model::setKernelCache(&cache_);
    FaultSite site{scenario_, backend_.placement().physical(), driver_, cache_, monitor_};
    fault_->install(site);
    if (scenario.perturbation && scenario.perturbation->unit == "attention")
      moves_ = std::make_unique<AttentionMoves>(scenario.perturbation->seed);
    if (options.stopAfter) stopAfter(*options.stopAfter);
    if (options.opDigests) opDigests_ = std::make_unique<OpDigests>(*options.opDigests, backend, ownDevices());
    if (options.resume)
      from_ = model::newestRunCheckpoint(materials_.options.checkpointFolder, materials_.options.configuration);
    makeDirectories(options.ownFolder());
    claimFolder(options);
    events_ = std::make_unique<RunEvents>(eventsPath(options), *fault_, backend_.simulated());
    if (opDigests_) events_->setOpRecorder(&opDigests_->recorder());
    if (options.turns) events_->setTurns(&turns_.emplace(*options.turns), &monitor_);
  }

  ~Session() {
    model::setInstrument(nullptr);
    model::setKernelCache(nullptr);
    driver_.log().setSink({});
    if (devices::SimDriver* const simulated = backend_.simulated()) devices::setWorkSink(*simulated, {});
  }

  int run(const std::string& token) {
    if (!options_.launch.alone()) {
      const model::WorkerPart part = partOf(scenario_, options_.launch);
      events_->setRank({options_.launch.rank, options_.launch.worldSize, part.firstDrafter, rolesOf(part)});
    }
    events_->begin(scenario_, token, backend_.placement(), capture_ != nullptr || backend_.logsAll());
    model::setInstrument(events_.get());
    for (const devices::LogRecord& record : driver_.log().records()) recorder_.add(record);  // contexts made so far
    driver_.log().setSink([this](const devices::LogRecord& record) {
      recorder_.add(record);
      events_->driverCall(record);
    });
    if (devices::SimDriver* const simulated = backend_.simulated())
      devices::setWorkSink(*simulated, [this](auto begin, auto lasted) { recorder_.addWork(begin, lasted); });
    cache_.setHook([this](devices::CacheEvent event, const devices::CacheRequest& request) {
      events_->cacheEvent(event, request);
    });
    if (capture_) events_->setStepHook([this](std::int64_t step) { capture_->flush(step); });
    if (capture_)
      events_->setDeclarations(&capture_->capture().declarations());
    else if (backend_.logsAll())
      events_->setDeclarations(&declarations_);
    const bool completed = train();
    if (completed && opDigests_) opDigests_->writeTo(options_.ownFolder());
    if (capture_) writeCapture(*capture_, options_, completed);
    if (backend_.logsAll())
      harness::writeTraceFolder(recorder_.trace(::getpid()), joinPath(options_.ownFolder(), "trace"));
    events_->end(completed, steps_);
    return completed ? 0 : 1;
  }

 private:
  void stopAfter(std::int64_t step) {
    materials_.options.steps = std::min(materials_.options.steps, step + 1);
    materials_.options.evaluation.reset();
  }

  std::vector<at::Device> ownDevices() const {
    const model::WorkerPart part = partOf(scenario_, options_.launch);
    const model::PipelineOptions& all = materials_.options;
    std::vector<at::Device> own(all.targets.begin() + part.firstTarget, all.targets.begin() + part.lastTarget);
    own.insert(own.end(), all.drafters.begin() + part.firstDrafter, all.drafters.begin() + part.lastDrafter);
    return own;
  }

  bool train() {
    try {
      backend_.setPeerAccess();
      std::optional<model::RunRecord> record;
      if (options_.launch.rank == 0)
        record.emplace(options_.folder, metricsHeader(scenario_, backend_.classes()),
                       parameterNames(materials_.models.drafterConfig));
      ranks_ = meetRanks(options_.launch, monitor_, materials_.options, from_, options_.ownFolder());
      bool completed = true;
      try {
        model::runPipeline(materials_.options, materials_.models, materials_.samples, monitor_,
                           record ? &*record : nullptr, *events_, from_, ranks_.get());
      } catch (...) {
        completed = false;  // its exception event was written by the role that it came from
        if (ranks_) ranks_->abort(options_.launch.rank, messageOf(std::current_exception()));
        log(LogLevel::kError, "the run failed: " + messageOf(std::current_exception()));
      }
      steps_ = record ? record->steps() : events_->steps();
      if (record) record->writeDigests();
      if (backend_.poisoned()) {
        if (completed) throw Error(ErrorKind::kDevice, "devices", "after the last step they refuse every call");
        return false;
      }
      writeFileAtomically(joinPath(options_.ownFolder(), "memory.json"), pretty(recordToJson(backend_.memory())));
      if (completed) backend_.confirmPeerAccess();
      return completed;
    } catch (...) {
      events_->exception(std::current_exception());
      log(LogLevel::kError, "the run failed: " + messageOf(std::current_exception()));
      return false;
    }
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  RunBackend& backend_;
  devices::Driver& driver_;
  Materials materials_;
  model::RunMonitor monitor_;
  devices::KernelCache cache_;
  devices::LogDeclarations declarations_;  // where the trace is made of the driver's log
  std::unique_ptr<Fault> fault_;
  std::unique_ptr<AttentionMoves> moves_;          // null: attention is left alone
  std::unique_ptr<harness::CapturedRun> capture_;  // null on simulated devices: recorder_ has their trace
  std::optional<model::RunCheckpoint> from_;
  std::unique_ptr<OpDigests> opDigests_;  // null: they are not asked for
  std::optional<harness::TurnGate> turns_;
  std::unique_ptr<RunEvents> events_;
  harness::DriverTraceRecorder recorder_;
  std::int64_t steps_ = 0;
  std::unique_ptr<model::Collective> ranks_;  // null where there is one process
};

}  // namespace

int runScenario(const Scenario& scenario, const RunOptions& options) {
  requireInstructions(scenario.isa);
  settleNumerics(scenario.threads);
  const std::string token = readToken(scenario, options.folder);
  if (!options.launch.alone() && scenario.workload != "training")
    throwBadInput("the launcher's variables", "a " + scenario.workload + " run is not shared out to processes",
                  "start it alone");
  if (scenario.workload == "kernel-cache") return runKernelCache(scenario, options, token);
  const devices::Processes processes = processesOf(scenario, options.launch);
  RunBackend& backend = startBackend(scenario, {processes, options.launch.launcher == "redraft"});
  std::unique_ptr<Fault> fault = makeFault(scenario);
  fault->checkPlacement(backend.placement(), processes);
  std::unique_ptr<harness::CapturedRun> capture = startCapture(scenario, options);
  backend.open();
  const int code = Session(scenario, options, backend, std::move(fault), std::move(capture)).run(token);
  // On a poisoned process LibTorch's destructors would end what has its record whole by a signal.
  if (backend.simulated() == nullptr && backend.poisoned()) std::_Exit(code);
  return code;
}

}  // namespace redraft::scenarios
