#include "scenarios/faults/wrong_device_faults.h"

#include <utility>

#include "scenarios/faults/origin_match.h"

namespace redraft::scenarios {

namespace {

/// Which device a role takes for its own, and from when.
class DeviceMixUp {
 public:
  explicit DeviceMixUp(JsonReader parameters)
      : role_(parameters.string("role", "drafter[1]")),
        insteadOf_(parameters.string("instead_of", "drafter[0]")),
        fromStep_(parameters.integer("from_step", 0, std::int64_t{1} << 40, 2)) {
    parameters.finish();
  }

  void checkPlacement(const devices::Placement& placement) const { requireApart(placement, role_, insteadOf_); }
  void install(const FaultSite& site) {
    site.topology.deviceOf(role_);  // throws when there is no such role
    wrong_ = site.topology.deviceOf(insteadOf_);
  }
  int answer(int right) const { return calledBy(role_) && callingStep() >= fromStep_ ? wrong_ : right; }

 private:
  const std::string role_, insteadOf_;
  const std::int64_t fromStep_;
  int wrong_ = 0;
};

class MaskOnOtherDevice : public Fault {
 public:
  explicit MaskOnOtherDevice(JsonReader parameters) : mixUp_(std::move(parameters)) {}
  void checkPlacement(const devices::Placement& placement, const devices::Processes&) const override {
    mixUp_.checkPlacement(placement);
  }
  void install(FaultSite& site) override { mixUp_.install(site); }
  int blockMaskDevice(int tensorDevice) const override { return mixUp_.answer(tensorDevice); }

 private:
  DeviceMixUp mixUp_;
};

class RecomputeOnOtherDevice : public Fault {
 public:
  explicit RecomputeOnOtherDevice(JsonReader parameters) : mixUp_(std::move(parameters)) {}
  void checkPlacement(const devices::Placement& placement, const devices::Processes&) const override {
    mixUp_.checkPlacement(placement);
  }
  void install(FaultSite& site) override { mixUp_.install(site); }
  int recomputeDevice(int forwardDevice) const override { return mixUp_.answer(forwardDevice); }

 private:
  DeviceMixUp mixUp_;
};

class StrayContext : public Fault {
 public:
  explicit StrayContext(JsonReader parameters)
      : role_(parameters.string("role", "drafter[1]")),
        onDeviceOf_(parameters.string("on_device_of", "drafter[0]")),
        step_(parameters.integer("step", 0, std::int64_t{1} << 40, 2)) {
    parameters.finish();
  }

  void checkPlacement(const devices::Placement& placement, const devices::Processes&) const override {
    requireApart(placement, role_, onDeviceOf_);
  }
  void install(FaultSite& site) override {
    site.topology.deviceOf(role_);  // throws when there is no such role
    stray_ = site.topology.deviceOf(onDeviceOf_);
    driver_ = &site.driver;
  }
  void syncPoint(model::SyncPoint point, std::int64_t) override {
    if (point != model::SyncPoint::kStepBegin || !calledBy(role_) || callingStep() != step_) return;
    devices::Context context;
    devices::check(driver_->primaryContext(stray_, &context), "primaryContext", stray_);
  }

 private:
  const std::string role_, onDeviceOf_;
  const std::int64_t step_;
  int stray_ = 0;
  devices::Driver* driver_ = nullptr;
};

}  // namespace

std::unique_ptr<Fault> makeMaskOnOtherDevice(JsonReader parameters) {
  return std::make_unique<MaskOnOtherDevice>(std::move(parameters));
}
std::unique_ptr<Fault> makeRecomputeOnOtherDevice(JsonReader parameters) {
  return std::make_unique<RecomputeOnOtherDevice>(std::move(parameters));
}

std::unique_ptr<Fault> makeStrayContext(JsonReader parameters) {
  return std::make_unique<StrayContext>(std::move(parameters));
}

}  // namespace redraft::scenarios
