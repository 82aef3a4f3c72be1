#include "scenarios/runner/kernel_cache_session.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/unsupported.h"
#include "devices/context_guard.h"
#include "devices/cuda_loader.h"
#include "devices/nvrtc.h"
#include "devices/sim/sim_driver.h"
#include "golden/run_files.h"
#include "harness/probe/captured_run.h"
#include "harness/trace/driver_trace.h"
#include "model/kernels/gpu_attention.h"
#include "model/kernels/gpu_ops.h"
#include "model/pipeline/run_record.h"
#include "model/role.h"
#include "scenarios/runner/attention_probe.h"
#include "scenarios/runner/numerics.h"
#include "scenarios/runner/run_events.h"
#include "scenarios/runner/session_parts.h"

namespace redraft::scenarios {
namespace {

std::unique_ptr<devices::Driver> startDriver(const Scenario& scenario, const devices::Topology& topology) {
  if (scenario.backend == "sim") {
    devices::SimOptions options;
    options.topology = topology;
    return devices::makeSimDriver(std::move(options));
  }
  std::unique_ptr<devices::Driver> driver = devices::loadCudaDriver({.topology = topology});
  if (driver->deviceCount() < topology.deviceCount) {
    throw Unsupported("needs " + std::to_string(topology.deviceCount) + " GPUs: this machine has " +
                      std::to_string(driver->deviceCount()));
  }
  return driver;
}

devices::KernelCache::Compiler compilerFor(devices::Driver& driver) {
  if (std::string(driver.backend()) == "sim") return model::compileAttention;
  return model::gpuAttentionCompiler(devices::cudaArchitecture(driver, 0),
                                     std::make_shared<devices::ArtefactStore>(devices::ArtefactStore::defaultFolder()));
}

class KernelCacheSession {
 public:
  KernelCacheSession(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario),
        options_(options),
        topology_(scenario.topology.resolve()),
        driver_(startDriver(scenario, topology_)),
        capture_(startCapture(scenario, options)),
        monitor_(std::chrono::milliseconds(static_cast<std::int64_t>(2000 * scenario.limits.hangSeconds))),
        cache_(*driver_, compilerFor(*driver_)),
        fault_(makeFault(scenario)),
        probe_(scenario.seed) {
    configureCache(cache_, scenario.kernelCache);
    FaultSite site{scenario_, topology_, *driver_, cache_, monitor_};
    fault_->install(site);
    claimFolder(options);
    events_ =
        std::make_unique<RunEvents>(eventsPath(options), *fault_, dynamic_cast<devices::SimDriver*>(driver_.get()));
  }

  ~KernelCacheSession() {
    model::setInstrument(nullptr);
    driver_->log().setSink({});
  }

  int run(const std::string& token) {
    events_->begin(scenario_, token, devices::Placement(topology_), capture_ != nullptr || simulated());
    model::setInstrument(events_.get());
    if (capture_) events_->setStepHook([this](std::int64_t step) { capture_->flush(step); });
    for (const devices::LogRecord& call : driver_->log().records()) recorder_.add(call);  // made so far
    driver_->log().setSink([this](const devices::LogRecord& call) {
      if (simulated()) recorder_.add(call);
      events_->driverCall(call);
    });
    cache_.setHook([this](devices::CacheEvent event, const devices::CacheRequest& request) {
      events_->cacheEvent(event, request);
    });
    model::RunRecord record(options_.folder, metricsHeader(scenario_, classes()), {"attention.out"});
    outputs_.resize(topology_.roles.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < topology_.roles.size(); ++i) {
      threads.emplace_back([this, &record, i] { work(static_cast<int>(i), record); });
    }
    for (std::thread& thread : threads) thread.join();
    const bool completed = monitor_.error() == nullptr;
    if (!completed) log(LogLevel::kError, "the run failed: " + messageOf(monitor_.error()));
    record.writeDigests();
    writeMemory();
    if (capture_) writeCapture(*capture_, options_, completed);
    if (simulated()) harness::writeTraceFolder(recorder_.trace(::getpid()), joinPath(options_.folder, "trace"));
    events_->end(completed, record.steps());
    return completed ? 0 : 1;
  }

 private:
  /// The driver's log shows all that simulated devices do: the trace is made of it.
  bool simulated() const { return scenario_.backend == "sim"; }

  /// On a GPU nothing but our own kernel runs.
  RunClasses classes() const {
    if (scenario_.backend == "sim") return {cpuNumericsClass("sim", scenario_.threads), {}};
    const std::string isa = "sm_" + std::to_string(devices::cudaArchitecture(*driver_, 0));
    return {{{"device", "cuda"},
             {"isa", isa},
             {"nvrtc", devices::Nvrtc::open().version()},
             {"kernels", std::to_string(model::gpu::kKernelsVersion)}},
            {}};
  }

  /// A drafter, from its context's begin to its end.
  void work(int drafter, model::RunRecord& record) {
    const devices::RoleDevice& role = topology_.roles[static_cast<std::size_t>(drafter)];
    const model::RoleScope scope(role.role);
    const at::Device place(at::kPrivateUse1, static_cast<at::DeviceIndex>(role.device));
    try {
      events_->roleBegan(role.role, place);
      devices::Context context;
      devices::check(driver_->createContext(role.device, &context), "createContext", role.device);
      const devices::ContextGuard guard(*driver_, context);
      AttentionProbe probe(*driver_, context, role.device, probe_);
      for (std::int64_t step = 0; step < scenario_.training.steps; ++step) runStep(drafter, step, probe, record);
      events_->roleEnded(role.role, place);
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      if (!model::isRunStopped(error)) events_->roleFailed(role.role, error);
      monitor_.fail(error);
    }
  }

  void runStep(int drafter, std::int64_t step, AttentionProbe& probe, model::RunRecord& record) {
    const model::StepScope scope(step);
    events_->syncPoint(model::SyncPoint::kStepBegin, step);
    if (step == 0) awaitTurn(drafter);
    const auto begun = std::chrono::steady_clock::now();
    const at::Tensor out = step % 2 == 0 ? launch(probe) : launchOnNewThread(drafter, step, probe);
    compare(out);
    events_->drafterStepped(drafter, step, meanSquare(out));
    finishStep(drafter, step, out, std::chrono::steady_clock::now() - begun, record);
    events_->syncPoint(model::SyncPoint::kStepEnd, step);
  }

  /// In the first step one drafter after the other, so that it is the same one that loads, and the same one that is
  /// refused first, whenever the run is repeated. Later steps are taken at once.
  void awaitTurn(int drafter) {
    auto lock = monitor_.lock();
    const std::string& role = topology_.roles[static_cast<std::size_t>(drafter)].role;
    monitor_.wait(
        lock, role, [] { return std::string("its turn in the first step"); }, [&] { return finished_ == drafter; });
  }

  at::Tensor launch(AttentionProbe& probe) {
    const model::PhaseScope phase(devices::Phase::kDrafterForward);
    return probe.launch(cache_);
  }

  /// New threads have no context, on CUDA as on sim: this one binds the drafter's, and finds the cache warm.
  at::Tensor launchOnNewThread(int drafter, std::int64_t step, AttentionProbe& probe) {
    at::Tensor out;
    std::exception_ptr error;
    std::thread([&] {
      const model::RoleScope role(topology_.roles[static_cast<std::size_t>(drafter)].role);
      const model::StepScope scope(step);
      try {
        const devices::ContextGuard guard(*driver_, probe.context());
        out = launch(probe);
      } catch (...) {
        error = std::current_exception();
      }
    }).join();
    if (error) std::rethrow_exception(error);
    return out;
  }

  /// sim runs the CPU's own kernel: equal bits. A GPU's differs by less than docs/kernels.md, "On a GPU", allows: here
  /// (η + 2u) max|v|, with η below u for these scores.
  void compare(const at::Tensor& out) const {
    const double allowed = scenario_.backend == "sim" ? 0.0 : 3 * 0x1p-8 * probe_.v.abs().max().item<double>();
    const double most = (out.to(at::kDouble) - probe_.expected.to(at::kDouble)).abs().max().item<double>();
    if (most <= allowed) return;  // false for NaN
    throw Error(ErrorKind::kDevice, "attention",
                "the output differs from the CPU's by " + std::to_string(most) + ", and at most " +
                    std::to_string(allowed) + " is allowed");
  }

  static double meanSquare(const at::Tensor& out) { return out.to(at::kDouble).square().mean().item<double>(); }

  /// Drafter 0 records the step once all have done it; the others wait until it has.
  void finishStep(int drafter, std::int64_t step, const at::Tensor& out, std::chrono::duration<double> took,
                  model::RunRecord& record) {
    const std::string& role = topology_.roles[static_cast<std::size_t>(drafter)].role;
    auto lock = monitor_.lock();
    outputs_[static_cast<std::size_t>(drafter)] = out;
    ++finished_;
    monitor_.changed();
    const auto all = (step + 1) * static_cast<std::int64_t>(outputs_.size());
    if (drafter != 0) {
      monitor_.wait(
          lock, role, [] { return std::string("the step's record"); }, [&] { return recorded_ > step; });
      return;
    }
    monitor_.wait(
        lock, role, [] { return std::string("the other drafters' step"); }, [&] { return finished_ == all; });
    model::StepMetrics metrics;
    metrics.step = step;
    metrics.sums.numerator = meanSquare(out);
    metrics.sums.denominator = 1;
    metrics.tokens = static_cast<std::int64_t>(outputs_.size()) * probe_.mask.queries;
    metrics.seconds = took.count();
    metrics.parametersHash = model::hashTensors(outputs_);
    record.add(metrics, {model::digestGradient(at::stack(outputs_).to(at::kFloat), 0)});
    recorded_ = step + 1;
    monitor_.changed();
  }

  void writeMemory() const {
    golden::MemoryReport report;
    for (int device = 0; device < driver_->deviceCount(); ++device) {
      devices::MemoryInfo info;
      devices::check(driver_->memoryInfo(device, &info), "memoryInfo", device);
      report.devices.push_back({device, info.live, info.peak, info.segments, info.allocations});
    }
    writeFileAtomically(joinPath(options_.folder, "memory.json"), pretty(recordToJson(report)));
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  const devices::Topology topology_;
  std::unique_ptr<devices::Driver> driver_;
  std::unique_ptr<harness::CapturedRun> capture_;  // before the first context; null on simulated devices
  model::RunMonitor monitor_;
  devices::KernelCache cache_;
  std::unique_ptr<Fault> fault_;
  const ProbeCase probe_;
  std::unique_ptr<RunEvents> events_;
  harness::DriverTraceRecorder recorder_;
  // Under the monitor's lock:
  std::vector<at::Tensor> outputs_;
  std::int64_t finished_ = 0, recorded_ = 0;
};

}  // namespace

int runKernelCache(const Scenario& scenario, const RunOptions& options, const std::string& token) {
  return KernelCacheSession(scenario, options).run(token);
}

}  // namespace redraft::scenarios
