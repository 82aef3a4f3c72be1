#include "scenarios/faults/numerics_faults.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "scenarios/faults/make_fault.h"
#include "scenarios/faults/origin_match.h"
#include "scenarios/ops/op_call.h"

namespace redraft::scenarios {
namespace {

/// Changes what a chosen call made, before anybody reads it.
class AfterOp : public Fault {
 public:
  explicit AfterOp(JsonReader& parameters)
      : role_(parameters.string("role", "drafter[0]")),
        phase_(parameters.string("phase", "drafter_forward")),
        op_(parameters.string("op")),
        nth_(parameters.integer("nth", 0, 1 << 20, 0)),
        fromStep_(parameters.integer("from_step", 0, std::int64_t{1} << 40, 2)) {}

  ~AfterOp() override {
    if (handle_ != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle_);
    AfterOp* self = this;
    installed.compare_exchange_strong(self, nullptr);
  }

  void install(FaultSite& site) override {
    site.topology.deviceOf(role_);  // throws when there is no such role
    type_ = site.scenario.backend == "cuda" ? c10::DeviceType::CUDA : c10::DeviceType::PrivateUse1;
    installed.store(this);
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(begin, end)
                                        .needsInputs(true)
                                        .needsOutputs(true)
                                        .scopes({at::RecordScope::FUNCTION}));
  }

 protected:
  /// `result` is on the role's device; nothing that is called here is observed or differentiated.
  virtual void spoil(const at::Tensor& result) = 0;

 private:
  struct Written : at::ObserverContext {
    std::vector<at::Tensor> tensors;  // in place
  };

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) {
    AfterOp* const self = installed.load();
    if (self == nullptr || !self->isMeant(call)) return nullptr;
    auto written = std::make_unique<Written>();
    const std::vector<bool>& writes = factsOf(call).writes;
    const c10::ArrayRef<const c10::IValue> arguments = inputsOf(call);
    for (std::size_t i = 0; i < arguments.size() && i < writes.size(); ++i)
      if (writes[i]) eachTensor(arguments[i], [&](const at::Tensor& each) { written->tensors.push_back(each); });
    return written;
  }

  static void end(const at::RecordFunction& call, at::ObserverContext* context) {
    AfterOp* const self = installed.load();
    if (self == nullptr || context == nullptr) return;
    std::vector<at::Tensor> results = std::move(static_cast<Written*>(context)->tensors);
    for (const c10::IValue& value : call.outputs())
      eachTensor(value, [&](const at::Tensor& each) { results.push_back(each); });
    // A simulated device's operation calls the CPU's of the same name.
    if (results.empty() || results.front().device().type() != self->type_) return;
    if (self->count() != self->nth_) return;
    const at::RecordFunctionGuard unobserved(/*is_enabled=*/false);
    const at::AutoDispatchBelowADInplaceOrView undifferentiated;
    self->spoil(results.front());
  }

  bool isMeant(const at::RecordFunction& call) const {
    return op_ == call.name() && calledBy(role_) && callingStep() >= fromStep_ &&
           devices::phaseName(devices::currentOrigin().phase) == phase_;
  }

  /// Which such call of the step this is.
  std::int64_t count() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(step_, callingStep()) != callingStep()) calls_ = 0;
    return calls_++;
  }

  static inline std::atomic<AfterOp*> installed{nullptr};

  const std::string role_, phase_, op_;
  const std::int64_t nth_, fromStep_;
  c10::DeviceType type_ = c10::DeviceType::PrivateUse1;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  std::mutex mutex_;
  std::int64_t step_ = -1, calls_ = 0;
};

class WrongScale : public AfterOp {
 public:
  explicit WrongScale(JsonReader& parameters)
      : AfterOp(parameters), factor_(parameters.number("factor", -1e6, 1e6, 1.0 + 1.0 / 128)) {}

 private:
  void spoil(const at::Tensor& result) override { result.mul_(factor_); }
  const double factor_;
};

class WrongPosition : public AfterOp {
 public:
  using AfterOp::AfterOp;

 private:
  void spoil(const at::Tensor& result) override { result.copy_(result.roll({1}, {-2})); }
};

class SlippedUpdate : public AfterOp {
 public:
  using AfterOp::AfterOp;

 private:
  void spoil(const at::Tensor& result) override { result.view({-1}).narrow(0, 0, 1).mul_(1.0 + 1e-6); }
};

class LostPart : public AfterOp {
 public:
  using AfterOp::AfterOp;

 private:
  void spoil(const at::Tensor& result) override {
    const std::int64_t half = result.numel() / 2;
    result.view({-1}).narrow(0, half, result.numel() - half).zero_();
  }
};

class StaleResult : public AfterOp {
 public:
  using AfterOp::AfterOp;

 private:
  void spoil(const at::Tensor& result) override {
    const at::Tensor fresh = result.clone();
    if (before_.defined() && before_.sizes() == result.sizes()) result.copy_(before_);
    before_ = fresh;
  }
  at::Tensor before_;  // touched by the role's thread alone
};

}  // namespace

std::unique_ptr<Fault> makeWrongScale(JsonReader parameters) { return makeFrom<WrongScale>(parameters); }
std::unique_ptr<Fault> makeWrongPosition(JsonReader parameters) { return makeFrom<WrongPosition>(parameters); }
std::unique_ptr<Fault> makeSlippedUpdate(JsonReader parameters) { return makeFrom<SlippedUpdate>(parameters); }
std::unique_ptr<Fault> makeLostPart(JsonReader parameters) { return makeFrom<LostPart>(parameters); }
std::unique_ptr<Fault> makeStaleResult(JsonReader parameters) { return makeFrom<StaleResult>(parameters); }

}  // namespace redraft::scenarios
