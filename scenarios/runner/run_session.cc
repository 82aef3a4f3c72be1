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
#include "scenarios/runner/materials.h"
#include "scenarios/runner/numerics.h"
#include "scenarios/runner/run_events.h"

namespace redraft::scenarios {

namespace {

constexpr const char* kEventsFile = "events.jsonl";

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

void configureCache(devices::KernelCache& cache, const KernelCacheSpec& spec) {
  cache.setKey(spec.key == "context" ? devices::keyByContext() : devices::keyByPassedDevice());
  cache.setLoadMode(spec.load == "library" ? devices::LoadMode::kLibrary : devices::LoadMode::kModule);
  model::setCompiledAttention(spec.compiled);
  model::setKernelCache(&cache);
}

Json metricsHeader(const Scenario& scenario) {
  std::map<std::string, std::string> fields = numericsFields();
  fields["threads"] = std::to_string(scenario.threads);
  return {{"scenario", scenario.name}, {"numerics_class", fields}};
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

/// A folder is run once; --resume keeps what the interrupted run recorded under another name.
void claimFolder(const RunOptions& options) {
  const std::string events = joinPath(options.folder, kEventsFile);
  if (!fileExists(events)) return;
  if (!options.resume) {
    throwBadInput(events, "this folder was run already",
                  "use a new folder, or --resume to go on from its newest checkpoint");
  }
  for (int attempt = 1;; ++attempt) {
    const std::string kept = joinPath(options.folder, "events." + std::to_string(attempt) + ".jsonl");
    if (fileExists(kept)) continue;
    std::error_code error;
    std::filesystem::rename(events, kept, error);
    if (error) throw Error(ErrorKind::kEnvironment, events, "could not be set aside: " + error.message());
    return;
  }
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
    FaultSite site{scenario_, materials_.topology, cache_, monitor_};
    fault_->install(site);
    if (options.resume)
      from_ = model::newestRunCheckpoint(materials_.options.checkpointFolder, materials_.options.configuration);
    claimFolder(options);
    events_ = std::make_unique<RunEvents>(joinPath(options.folder, kEventsFile), *fault_, driver);
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

  static std::string messageOf(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      return e.what();
    } catch (...) {
      return "not a std::exception";
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

std::string readToken(const Scenario& scenario, const std::string& folder) {
  const std::string path = joinPath(folder, "schedule.token");
  if (!fileExists(path)) return freeScheduleToken(scenario);
  std::string token = readFile(path, 4096);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token != freeScheduleToken(scenario)) {
    throwBadInput(path, "the token \"" + token + "\" is not one of this scenario's",
                  "it is " + freeScheduleToken(scenario));
  }
  return token;
}

}  // namespace

int runScenario(const Scenario& scenario, const RunOptions& options) {
  settleNumerics(scenario.threads);
  const std::string token = readToken(scenario, options.folder);
  devices::SimDriver& driver = startDriver(scenario, scenario.topology.resolve());
  Session session(scenario, options, loadMaterials(scenario, options.folder), driver);
  return session.run(token);
}

}  // namespace redraft::scenarios
