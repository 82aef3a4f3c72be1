#include "scenarios/faults/kernel_cache_faults.h"

#include <mutex>
#include <utility>

#include "base/text.h"
#include "scenarios/faults/origin_match.h"

namespace redraft::scenarios {

namespace {

/// The report's order of events: one drafter has been training when the next one comes. Without it, which of the two
/// loads the handle, and so which one fails, would be up to the threads.
class FirstUser {
 public:
  explicit FirstUser(std::string role) : role_(std::move(role)) {}

  /// A handle is wrong for whoever has another context than the one who loaded it.
  void checkPlacement(const devices::Placement& placement, const devices::Processes& processes) const {
    std::string together;
    bool apart = false;
    for (const devices::RoleDevice& entry : placement.logical().roles) {
      if (entry.role == role_ || !isDrafter(entry.role)) continue;
      requireOneProcess(processes, role_, entry.role);
      apart |= !placement.together(role_, entry.role);
      together = entry.role;
    }
    if (!apart && !together.empty()) requireApart(placement, role_, together);
  }

  void install(FaultSite& site) {
    site.topology.deviceOf(role_);  // throws when there is no such role
    monitor_ = &site.monitor;
  }

  void syncPoint(model::SyncPoint point) {
    if (!calledByADrafter()) return;
    if (calledBy(role_)) {
      if (point == model::SyncPoint::kKernelLaunch) markLaunched();
    } else if (point == model::SyncPoint::kKernelLookup) {
      auto lock = monitor_->lock();
      monitor_->wait(
          lock, devices::roleName(devices::currentOrigin().role), [&] { return "the first launch of " + role_; },
          [&] { return launched_; });
    }
  }

 private:
  void markLaunched() {
    const auto lock = monitor_->lock();
    if (std::exchange(launched_, true)) return;
    monitor_->changed();
  }

  const std::string role_;
  model::RunMonitor* monitor_ = nullptr;
  bool launched_ = false;
};

bool isDraftArtefact(const devices::CacheRequest& request) {
  return globMatch("attention_*/draft_*", request.artefact);
}

class SharedKernelCache : public Fault {
 public:
  explicit SharedKernelCache(const std::string& first) : first_(first) {}

  void checkPlacement(const devices::Placement& placement, const devices::Processes& processes) const override {
    first_.checkPlacement(placement, processes);
  }
  void install(FaultSite& site) override {
    first_.install(site);
    site.cache.setKey(
        [shared = devices::keyByArtefact(), own = devices::keyByPassedDevice()](const devices::CacheRequest& request) {
          return isDraftArtefact(request) ? shared(request) : own(request);
        });
  }
  void syncPoint(model::SyncPoint point, std::int64_t) override { first_.syncPoint(point); }

 private:
  FirstUser first_;
};

class HalfFix : public Fault {
 public:
  explicit HalfFix(const std::string& first) : first_(first) {}

  void checkPlacement(const devices::Placement& placement, const devices::Processes& processes) const override {
    first_.checkPlacement(placement, processes);
  }
  void install(FaultSite& site) override {
    first_.install(site);
    site.cache.setKey(devices::keyByPassedDevice());
  }
  void syncPoint(model::SyncPoint point, std::int64_t) override { first_.syncPoint(point); }
  std::optional<int> kernelCallSiteDevice(int tensorDevice) const override {
    return calledByADrafter() ? std::nullopt : std::optional<int>(tensorDevice);
  }

 private:
  FirstUser first_;
};

template <class F>
std::unique_ptr<Fault> makeCacheFault(JsonReader parameters) {
  const std::string first = parameters.string("first", "drafter[0]");
  parameters.finish();
  return std::make_unique<F>(first);
}

}  // namespace

std::unique_ptr<Fault> makeSharedKernelCache(JsonReader parameters) {
  return makeCacheFault<SharedKernelCache>(std::move(parameters));
}
std::unique_ptr<Fault> makeHalfFix(JsonReader parameters) { return makeCacheFault<HalfFix>(std::move(parameters)); }

}  // namespace redraft::scenarios
