#include "model/recompute.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>
#include <optional>
#include <utility>

#include "model/instrument.h"
#include "model/role.h"

namespace redraft::model {

namespace {

/// The states of the default generators that a function on `device` may draw from.
class GeneratorStates {
 public:
  static GeneratorStates capture(at::Device device) {
    GeneratorStates states;
    states.generators_.push_back(at::detail::getDefaultCPUGenerator());
    if (!device.is_cpu()) states.generators_.push_back(at::globalContext().defaultGenerator(device));
    for (at::Generator& generator : states.generators_) {
      const std::scoped_lock lock(generator.mutex());
      states.states_.push_back(generator.get_state());
    }
    return states;
  }

  bool sameAs(const GeneratorStates& other) const {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!at::equal(states_[i], other.states_[i])) return false;
    }
    return true;
  }

  void restore() const {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      at::Generator generator = generators_[i];
      const std::scoped_lock lock(generator.mutex());
      generator.set_state(states_[i]);
    }
  }

 private:
  std::vector<at::Generator> generators_;
  std::vector<at::Tensor> states_;
};

/// Puts generator states in place, and the states that were there back at its end.
class GeneratorScope {
 public:
  GeneratorScope(const GeneratorStates& states, at::Device device) : before_(GeneratorStates::capture(device)) {
    states.restore();
  }
  ~GeneratorScope() { before_.restore(); }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  GeneratorStates before_;
};

std::optional<at::Device> currentDevice(at::DeviceType type) {
  if (type == at::kCPU) return std::nullopt;
  return c10::impl::VirtualGuardImpl(type).getDevice();
}

/// What backward needs to run the function again.
struct Recomputation : torch::CustomClassHolder {
  RecomputedFunction function;
  std::int64_t object = 0;
  std::optional<at::Device> device;           // current in forward; empty for the CPU
  std::optional<GeneratorStates> generators;  // set where the first run drew numbers

  at::Tensor gradient(const at::Tensor& input, const at::Tensor& outputGradient) const {
    const PhaseScope phase(devices::Phase::kRecompute);
    c10::OptionalDeviceGuard device_guard;
    if (device.has_value()) {
      const int index = instrument().recomputeDevice(device->index());
      device_guard.reset_device({device->type(), static_cast<c10::DeviceIndex>(index)});
    }
    std::optional<GeneratorScope> numbers;
    if (generators.has_value()) numbers.emplace(*generators, input.device());
    const c10::AutoGradMode enabled(true);
    const at::Tensor leaf = input.detach().requires_grad_(true);
    instrument().syncPoint(SyncPoint::kRecomputeBegin, object);
    const at::Tensor output = function(leaf).front();
    instrument().syncPoint(SyncPoint::kRecomputeEnd, object);
    return torch::autograd::grad({output}, {leaf}, {outputGradient}).front();
  }
};

struct RecomputeNode : torch::autograd::Function<RecomputeNode> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                                                c10::intrusive_ptr<Recomputation> again) {
    const GeneratorStates before = GeneratorStates::capture(input.device());
    again->device = currentDevice(input.device().type());
    torch::autograd::variable_list outputs = again->function(input);
    if (!before.sameAs(GeneratorStates::capture(input.device()))) again->generators = before;
    context->save_for_backward({input});
    context->saved_data["again"] = c10::IValue::make_capsule(std::move(again));
    context->mark_non_differentiable({outputs.begin() + 1, outputs.end()});
    return outputs;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto held = context->saved_data["again"].toCapsule();
    const auto* again = static_cast<const Recomputation*>(held.get());
    return {again->gradient(context->get_saved_variables().front(), gradients.front()), at::Tensor()};
  }
};

}  // namespace

std::vector<at::Tensor> recomputeInBackward(RecomputedFunction function, const at::Tensor& input, std::int64_t object) {
  auto again = c10::make_intrusive<Recomputation>();
  again->function = std::move(function);
  again->object = object;
  return RecomputeNode::apply(input, std::move(again));
}

}  // namespace redraft::model
