#include "scenarios/faults/process_faults.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/error.h"
#include "scenarios/faults/make_fault.h"
#include "scenarios/faults/origin_match.h"

namespace redraft::scenarios {

namespace {

/// Acts once, when `role` begins step `step`.
class AtStep : public Fault {
 public:
  explicit AtStep(JsonReader& parameters)
      : role_(parameters.string("role", "drafter[0]")),
        step_(parameters.integer("step", 0, std::int64_t{1} << 40, 2)) {}

  void install(FaultSite& site) override { site.topology.deviceOf(role_); }  // throws when there is no such role
  void syncPoint(model::SyncPoint point, std::int64_t) override {
    if (point == model::SyncPoint::kStepBegin && calledBy(role_) && callingStep() == step_) act();
  }

 protected:
  virtual void act() = 0;
  const std::string& role() const { return role_; }

 private:
  const std::string role_;
  const std::int64_t step_;
};

class Crash : public AtStep {
 public:
  explicit Crash(JsonReader& parameters)
      : AtStep(parameters),
        overflows_(parameters.choice("how", {"bad-address", "stack-overflow"}, "bad-address") == "stack-overflow") {}

 private:
  void act() override {
    if (overflows_) overflow(1);
    volatile std::uintptr_t nowhere = 8;  // the compiler must not see that it is no address
    *reinterpret_cast<volatile int*>(nowhere) = 1;
  }

  /// Recurses until the stack is used up. The sum after the call keeps it from being a loop.
  static int overflow(int depth) {
    volatile int frame[256] = {depth};
    return frame[0] < 0 ? 0 : overflow(frame[0] + 1) + frame[0];
  }

  const bool overflows_;
};

class Hang : public AtStep {
 public:
  using AtStep::AtStep;

 private:
  void act() override {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock<std::mutex> lock(mutex);
    while (true) never.wait(lock);
  }
};

class Throw : public AtStep {
 public:
  using AtStep::AtStep;

 private:
  void act() override { throw std::runtime_error("this scenario throws here"); }
};

class Drift : public AtStep {
 public:
  using AtStep::AtStep;
  void replicaReady(int drafter, const model::Drafter& replica) override {
    if (calledBy(role())) weight_ = replica.parameters().front();
  }

 private:
  void act() override {
    REDRAFT_CHECK(weight_.defined(), "a drafter drifts, not a target");
    const at::NoGradGuard quiet;
    weight_.select(0, 0).mul_(1.0 + 1.0 / 1024);
  }

  at::Tensor weight_;  // of the role that drifts; touched by its own thread alone
};

class Slow : public Fault {
 public:
  explicit Slow(JsonReader& parameters)
      : role_(parameters.string("role", "drafter[0]")), delay_(parameters.integer("milliseconds", 1, 60000, 20)) {}

  void install(FaultSite& site) override { site.topology.deviceOf(role_); }
  void syncPoint(model::SyncPoint point, std::int64_t) override {
    if (point == model::SyncPoint::kStepBegin && calledBy(role_)) std::this_thread::sleep_for(delay_);
  }

 private:
  const std::string role_;
  const std::chrono::milliseconds delay_;
};

}  // namespace

std::unique_ptr<Fault> makeCrash(JsonReader parameters) { return makeFrom<Crash>(parameters); }
std::unique_ptr<Fault> makeHang(JsonReader parameters) { return makeFrom<Hang>(parameters); }
std::unique_ptr<Fault> makeDrift(JsonReader parameters) { return makeFrom<Drift>(parameters); }
std::unique_ptr<Fault> makeSlow(JsonReader parameters) { return makeFrom<Slow>(parameters); }
std::unique_ptr<Fault> makeThrow(JsonReader parameters) { return makeFrom<Throw>(parameters); }

}  // namespace redraft::scenarios
