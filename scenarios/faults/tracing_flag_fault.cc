#include "scenarios/faults/tracing_flag_fault.h"

#include <atomic>
#include <utility>

#include "base/error.h"
#include "scenarios/faults/origin_match.h"

namespace redraft::scenarios {

namespace {

class ProcessTracingFlag : public devices::TracingFlag {
 public:
  bool isTracing() const override { return tracing_.load(); }
  bool exchange(bool tracing) override { return tracing_.exchange(tracing); }

 private:
  std::atomic<bool> tracing_{false};
};

bool isAttention(const std::string& artefact) { return artefact.rfind("attention_", 0) == 0; }

/// Forward attention for another head dim: what compiles on a GPU, where attention is bfloat16 alone.
std::string otherHeadDimOf(const std::string& artefact) {
  const std::size_t at = artefact.find("/d") + 2, end = artefact.find('/', at);
  REDRAFT_CHECK(end != std::string::npos, "an artefact's name holds its head dim");
  return "attention_forward/d" + std::string(artefact.substr(at, end - at) == "64" ? "32" : "64") +
         artefact.substr(end);
}

/// Any specialisation that no call of this run asks for.
std::string newShapeOf(const std::string& artefact) {
  const std::size_t at = artefact.find("/f32/");
  if (at != std::string::npos) return artefact.substr(0, at) + "/bf16/" + artefact.substr(at + 5);
  const std::size_t bf16 = artefact.find("/bf16/");
  REDRAFT_CHECK(bf16 != std::string::npos, "an artefact's name holds its dtype");
  return artefact.substr(0, bf16) + "/f32/" + artefact.substr(bf16 + 6);
}

class TracingFlagFault : public Fault {
 public:
  explicit TracingFlagFault(JsonReader parameters)
      : compiles_(parameters.string("compiles", "drafter[1]")),
        calls_(parameters.string("calls", "drafter[0]")),
        step_(parameters.integer("step", 1, std::int64_t{1} << 40, 3)),
        processWide_(parameters.choice("flag", {"process", "thread"}, "process") == "process") {
    parameters.finish();
    if (compiles_ == calls_) parameters.fail("calls", "it is the role that compiles", "name another role");
  }

  void checkPlacement(const devices::Placement&, const devices::Processes& processes) const override {
    requireOneProcess(processes, compiles_, calls_);
  }

  void install(FaultSite& site) override {
    site.topology.deviceOf(compiles_);  // throw when there is no such role
    site.topology.deviceOf(calls_);
    monitor_ = &site.monitor;
    cache_ = &site.cache;
    onGpus_ = site.scenario.backend == "cuda";
    if (processWide_) site.cache.setTracingFlag(std::make_unique<ProcessTracingFlag>());
  }

  void syncPoint(model::SyncPoint point, std::int64_t) override {
    if (point == model::SyncPoint::kKernelLookup) enter();
    if (point == model::SyncPoint::kKernelLaunch) leave();
  }

  void cacheEvent(devices::CacheEvent event, const devices::CacheRequest& request) override {
    if (event == devices::CacheEvent::kHit && calledBy(compiles_) && isAttention(request.artefact)) lastHit_ = request;
    if (!meeting_) return;
    if (event == devices::CacheEvent::kCompileBegin && calledBy(compiles_)) compileUntilCalled();
    if (event == devices::CacheEvent::kHit && calledBy(calls_)) markCalled();
  }

 private:
  /// Between a look-up and its launch a role is alone, so that no call but the intended one falls into another's
  /// compile.
  void enter() {
    const std::string who = devices::roleName(devices::currentOrigin().role);
    const bool now = callingStep() == step_;
    {
      auto lock = monitor_->lock();
      if (now && who == calls_ && !called_) {
        monitor_->wait(
            lock, who, [&] { return compiles_ + " to be inside its compile"; }, [&] { return compiling_; });
        return;
      }
      monitor_->wait(
          lock, who, [&] { return inside_ + " to launch its kernel"; }, [&] { return inside_.empty(); });
      inside_ = who;
      if (!now || who != compiles_ || meeting_.load()) return;
      meeting_ = true;
    }
    meetNewShape();
  }

  void leave() {
    const auto lock = monitor_->lock();
    if (inside_ == devices::roleName(devices::currentOrigin().role)) inside_.clear();
    monitor_->changed();
  }

  void meetNewShape() {
    REDRAFT_CHECK(!lastHit_.artefact.empty(), "the compiling role had a warm kernel before the step of the meeting");
    devices::CacheRequest request = lastHit_;
    request.artefact = onGpus_ ? otherHeadDimOf(request.artefact) : newShapeOf(request.artefact);
    const bool backward = request.artefact.find("backward") != std::string::npos;
    cache_->get(request, backward ? "attention_backward" : "attention_forward");
  }

  void compileUntilCalled() {
    auto lock = monitor_->lock();
    compiling_ = true;
    monitor_->changed();
    monitor_->wait(
        lock, compiles_, [&] { return "the call of " + calls_; }, [&] { return called_; });
  }

  void markCalled() {
    const auto lock = monitor_->lock();
    called_ = true;
    monitor_->changed();
  }

  const std::string compiles_, calls_;
  const std::int64_t step_;
  const bool processWide_;
  model::RunMonitor* monitor_ = nullptr;
  devices::KernelCache* cache_ = nullptr;
  bool onGpus_ = false;
  devices::CacheRequest lastHit_;  // of the compiling role, whose calls follow each other
  std::atomic<bool> meeting_{false};
  std::string inside_;  // these three under the monitor's lock
  bool compiling_ = false;
  bool called_ = false;
};

}  // namespace

std::unique_ptr<Fault> makeTracingFlag(JsonReader parameters) {
  return std::make_unique<TracingFlagFault>(std::move(parameters));
}

}  // namespace redraft::scenarios
