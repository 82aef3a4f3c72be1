#include "scenarios/runner/run_session.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "devices/sim/sim_driver.h"
#include "golden/run_files.h"
#include "harness/trace/driver_trace.h"
#include "model/checkpoint.h"
#include "model/kernels/attention.h"
#include "model/sim/sim_backend.h"
#include "scenarios/faults/fault.h"
#include "scenarios/runner/kernel_cache_session.h"
#include "scenarios/runner/materials.h"
#include "scenarios/runner/numerics.h"
#include "scenarios/runner/run_events.h"
#include "scenarios/runner/session_parts.h"

namespace redraft::scenarios {

namespace {

/// The driver of this process. It outlives every tensor and autograd's threads, so it is never destroyed.
devices::SimDriver& startDriver(const Scenario& scenario, const devices::Topology& topology) {
  devices::SimOptions options;
  options.topology = topology;
  devices::SimDriver& driver = *devices::makeSimDriver(std::move(options)).release();
  model::SimBackendOptions backend;
  backend.strictness = scenario.strict == "all-ops" ? model::Strictness::kAllOps : model::Strictness::kRawLaunch;
  model::registerSim(driver, backend);
  return driver;
}

/// Peer access as the topology says: on between all devices that roles use; off, and the driver confirms it.
void setPeerAccess(devices::Driver& driver, const devices::Topology& topology) {
  for (const devices::RoleDevice& from : topology.roles) {
    for (const devices::RoleDevice& to : topology.roles) {
      if (from.device == to.device) continue;
      bool can = false;
      devices::check(driver.canAccessPeer(from.device, to.device, &can), "canAccessPeer", from.device);
      if (can != topology.peerAccess) {
        throw Error(ErrorKind::kEnvironment, "topology.peer",
                    "device " + std::to_string(from.device) + (can ? " can" : " cannot") + " access device " +
                        std::to_string(to.device) + ", and the scenario asks for the opposite");
      }
      if (!can) continue;
      const devices::Status status = driver.enablePeerAccess(from.device, to.device);
      if (status != devices::Status::kPeerAccessAlreadyEnabled) devices::check(status, "enablePeerAccess", from.device);
    }
  }
}

std::vector<std::string> parameterNames(const model::DrafterConfig& config) {
  std::vector<std::string> names;
  for (const model::ParameterSpec& spec : model::drafterParameters(config)) names.push_back(spec.name);
  return names;
}

void writeMemory(const std::string& folder, devices::SimDriver& driver) {
  golden::MemoryReport report;
  for (int device = 0; device < driver.deviceCount(); ++device) {
    devices::MemoryInfo info;
    devices::check(driver.memoryInfo(device, &info), "memoryInfo", device);
    report.devices.push_back({device, info.live, info.peak, info.segments, info.allocations});
  }
  for (const devices::RoleMemory& entry : driver.roleMemory()) {
    report.roles[devices::roleName(entry.role)][std::to_string(entry.device)] = entry.bytes;
  }
  writeFileAtomically(joinPath(folder, "memory.json"), pretty(recordToJson(report)));
}

class Session {
 public:
  Session(const Scenario& scenario, const RunOptions& options, Materials materials, devices::SimDriver& driver)
      : scenario_(scenario),
        options_(options),
        materials_(std::move(materials)),
        driver_(driver),
        monitor_(std::chrono::milliseconds(static_cast<std::int64_t>(2000 * scenario.limits.hangSeconds))),
        cache_(driver, model::compileAttention),
        fault_(makeFault(scenario)) {
    configureCache(cache_, scenario.kernelCache);
    model::setCompiledAttention(scenario.kernelCache.compiled);
    model::setKernelCache(&cache_);
    FaultSite site{scenario_, materials_.topology, cache_, monitor_};
    fault_->install(site);
    if (options.resume)
      from_ = model::newestRunCheckpoint(materials_.options.checkpointFolder, materials_.options.configuration);
    claimFolder(options);
    events_ = std::make_unique<RunEvents>(eventsPath(options), *fault_, &driver);
  }

  ~Session() {
    model::setInstrument(nullptr);
    model::setKernelCache(nullptr);
    driver_.log().setSink({});
  }

  int run(const std::string& token) {
    events_->begin(scenario_, token);
    model::setInstrument(events_.get());
    for (const devices::LogRecord& record : driver_.log().records()) recorder_.add(record);  // contexts made so far
    driver_.log().setSink([this](const devices::LogRecord& record) {
      recorder_.add(record);
      events_->driverCall(record);
    });
    cache_.setHook([this](devices::CacheEvent event, const devices::CacheRequest& request) {
      events_->cacheEvent(event, request);
    });
    const bool completed = train();
    harness::writeTraceFolder(recorder_.trace(::getpid()), joinPath(options_.folder, "trace"));
    events_->end(completed, steps_);
    return completed ? 0 : 1;
  }

 private:
  bool train() {
    try {
      setPeerAccess(driver_, materials_.topology);
      model::RunRecord record(options_.folder, metricsHeader(scenario_),
                              parameterNames(materials_.models.drafterConfig));
      bool completed = true;
      try {
        model::runPipeline(materials_.options, materials_.models, materials_.samples, monitor_, record, *events_,
                           from_);
      } catch (...) {
        completed = false;  // its exception event was written by the role that it came from
        log(LogLevel::kError, "the run failed: " + messageOf(std::current_exception()));
      }
      steps_ = record.steps();
      record.writeDigests();
      if (!driver_.poisoned()) writeMemory(options_.folder, driver_);
      return completed;
    } catch (...) {
      events_->exception(std::current_exception());
      log(LogLevel::kError, "the run failed: " + messageOf(std::current_exception()));
      return false;
    }
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  Materials materials_;
  devices::SimDriver& driver_;
  model::RunMonitor monitor_;
  devices::KernelCache cache_;
  std::unique_ptr<Fault> fault_;
  std::optional<model::RunCheckpoint> from_;
  std::unique_ptr<RunEvents> events_;
  harness::DriverTraceRecorder recorder_;
  std::int64_t steps_ = 0;
};

}  // namespace

int runScenario(const Scenario& scenario, const RunOptions& options) {
  settleNumerics(scenario.threads);
  const std::string token = readToken(scenario, options.folder);
  if (scenario.workload == "kernel-cache") return runKernelCache(scenario, options, token);
  devices::SimDriver& driver = startDriver(scenario, scenario.topology.resolve());
  Session session(scenario, options, loadMaterials(scenario, options.folder), driver);
  return session.run(token);
}

}  // namespace redraft::scenarios
