#include "scenarios/faults/host_sync_fault.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

#include "scenarios/faults/origin_match.h"

namespace redraft::scenarios {
namespace {

class HostSync : public Fault {
 public:
  explicit HostSync(JsonReader parameters)
      : role_(parameters.string("role", "target[0]")), waits_(parameters.integer("waits", 1, 1000, 1)) {
    parameters.finish();
  }

  void install(FaultSite& site) override {
    device_ = site.topology.deviceOf(role_);  // throws when there is no such role
    type_ = site.scenario.backend == "cuda" ? c10::DeviceType::CUDA : c10::DeviceType::PrivateUse1;
  }
  void syncPoint(model::SyncPoint point, std::int64_t) override {
    if (point != workPoint(role_) || !calledBy(role_)) return;
    for (std::int64_t i = 0; i < waits_; ++i)
      c10::impl::VirtualGuardImpl(type_).synchronizeDevice(static_cast<c10::DeviceIndex>(device_));
  }

 private:
  const std::string role_;
  const std::int64_t waits_;  // each time
  int device_ = 0;
  c10::DeviceType type_ = c10::DeviceType::PrivateUse1;
};

}  // namespace

std::unique_ptr<Fault> makeHostSync(JsonReader parameters) { return std::make_unique<HostSync>(std::move(parameters)); }

}  // namespace redraft::scenarios
