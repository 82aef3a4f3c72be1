#include "model/sim/sim_fallback.h"

#include <ATen/core/stack.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "model/sim/cpu_alias.h"
#include "model/sim/op_touches.h"
#include "model/sim/sim_errors.h"
#include "model/sim/sim_generator.h"
#include "model/sim/sim_state.h"
#include "model/sim/sim_storage.h"

namespace redraft::model::sim {
namespace {

using c10::IValue;
using torch::jit::Stack;

/// One call of one op.
class Call {
 public:
  Call(const c10::OperatorHandle& op, const OpPlan& plan, Stack& stack)
      : op_(op), plan_(plan), stack_(stack), base_(stack.size() - plan.arguments) {}

  void run() {
    for (const ArgumentPlan& argument : plan_.interesting) lend(argument);
    const int current = bindCurrentDevice();
    if (device_ < 0) device_ = explicitDevice_ >= 0 ? explicitDevice_ : current;
    if (device_ != current && first_ >= 0 && state().strictness.load(std::memory_order_relaxed) == Strictness::kAllOps)
        [[unlikely]]
      throwNotCurrent(opName(), nameOf(first_, firstElement_), current);
    if (generatorArgument_ >= 0) lendGenerator();

    const DeviceScope scope(current, device_);
    try {
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack_);
    } catch (...) {
      takeBackWritten();  // a kernel may have resized an out= tensor before it failed
      throw;
    }
    takeBackWritten();
    takeBackResults();
    if (plan_.touches && reportsOps()) reportTouches();
  }

 private:
  struct Lent {
    at::Tensor sim;
    at::Tensor alias;  // kept for written arguments only
    std::uint16_t argument = 0;
    bool written = false;
  };

  std::string opName() const { return op_.operator_name().name; }

  const std::string& argumentName(int index) const { return op_.schema().arguments()[index].name(); }

  NamedDevice nameOf(int index, int element, c10::Device device) const {
    std::string name = argumentName(index);
    if (element >= 0) name += "[" + std::to_string(element) + "]";
    return {device, std::move(name)};
  }
  NamedDevice nameOf(int index, int element) const {
    return nameOf(index, element, c10::Device(kSim, static_cast<c10::DeviceIndex>(device_)));
  }

  void lend(const ArgumentPlan& argument) {
    IValue& value = stack_[base_ + argument.index];
    switch (argument.kind) {
      case ArgumentKind::kTensor:
        if (value.isTensor()) value = lendTensor(std::move(value).toTensor(), argument, -1);
        return;
      case ArgumentKind::kTensorList:
        if (value.isTensorList()) lendList(value, argument);
        return;
      case ArgumentKind::kIndexList:
        if (value.isOptionalTensorList()) {
          lendIndices(value, argument);
        } else if (value.isTensorList()) {
          lendList(value, argument);
        }
        return;
      case ArgumentKind::kDevice:
        if (value.isDevice() && value.toDevice().type() == kSim) {
          explicitDevice_ = value.toDevice().has_index() ? value.toDevice().index() : currentDevice();
          value = c10::Device(c10::DeviceType::CPU);
        }
        return;
      case ArgumentKind::kGenerator:
        generatorArgument_ = argument.index;
        return;
      case ArgumentKind::kPinMemory:
        if (value.isBool() && value.toBool())
          throwUnsupported(opName(), "memory of a sim device cannot be pinned",
                           "pin the CPU tensor that it is copied from");
        return;
    }
  }

  at::Tensor lendTensor(at::Tensor tensor, const ArgumentPlan& argument, int element) {
    if (!tensor.defined()) return tensor;
    if (!isSim(tensor)) {
      admitForeign(tensor, argument, element);
      return tensor;
    }
    const int device = tensor.device().index();
    if (device_ < 0) {
      device_ = device;
      first_ = argument.index;
      firstElement_ = element;
    } else if (device != device_) [[unlikely]] {
      throwMixedDevices(opName(), nameOf(first_, firstElement_), nameOf(argument.index, element, tensor.device()));
    }
    if (argument.written) anyWritten_ = true;
    if (plan_.writes) {  // kernels test written and read arguments for identity
      for (Lent& lent : lent_) {
        if (!lent.sim.is_same(tensor)) continue;
        lent.written |= argument.written;
        return lent.alias;
      }
    }
    at::Tensor alias = cpuAlias(tensor);
    lent_.push_back({std::move(tensor), plan_.writes ? alias : at::Tensor(), argument.index, argument.written});
    return alias;
  }

  /// A tensor that is on no sim device. As on CUDA, it may be a CPU index, or a 0-dim CPU operand.
  void admitForeign(const at::Tensor& tensor, const ArgumentPlan& argument, int element) {
    if (tensor.device().is_cpu()) {
      if (argument.kind == ArgumentKind::kIndexList) return;
      if (tensor.dim() == 0 && plan_.cpuScalars && !argument.written) return;
    }
    refuseForeign(nameOf(argument.index, element, tensor.device()));
  }

  [[noreturn]] void refuseForeign(const NamedDevice& foreign) {
    if (first_ < 0) findSimTensor();
    if (first_ < 0) throwUnsupported(opName(), "no tensor is on a sim device", "call the op on the CPU");
    throwMixedDevices(opName(), nameOf(first_, firstElement_), foreign);
  }

  /// For the message alone: the first sim tensor among the arguments not looked at yet.
  void findSimTensor() {
    for (const ArgumentPlan& argument : plan_.interesting) {
      const IValue& value = stack_[base_ + argument.index];
      const auto note = [&](const at::Tensor& tensor, int element) {
        if (first_ >= 0 || !tensor.defined() || !isSim(tensor)) return;
        device_ = tensor.device().index();
        first_ = argument.index;
        firstElement_ = element;
      };
      if (value.isTensor()) note(value.toTensor(), -1);
      int element = 0;
      if (value.isTensorList())
        for (const at::Tensor& tensor : value.toTensorVector()) note(tensor, element++);
      if (value.isOptionalTensorList())
        for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
          note(tensor.value_or(at::Tensor()), element++);
    }
  }

  void lendList(IValue& value, const ArgumentPlan& argument) {
    const auto tensors = value.toTensorList();
    c10::List<at::Tensor> aliases;
    aliases.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i)
      aliases.push_back(lendTensor(tensors.get(i), argument, static_cast<int>(i)));
    value = std::move(aliases);
  }

  void lendIndices(IValue& value, const ArgumentPlan& argument) {
    const auto tensors = value.toOptionalTensorList();
    c10::List<std::optional<at::Tensor>> aliases;
    aliases.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::optional<at::Tensor> tensor = tensors.get(i);
      if (tensor) tensor = lendTensor(*std::move(tensor), argument, static_cast<int>(i));
      aliases.push_back(std::move(tensor));
    }
    value = std::move(aliases);
  }

  /// The CPU engine of the generator that was passed, or of the device's default one.
  void lendGenerator() {
    IValue& value = stack_[base_ + generatorArgument_];
    if (!value.isGenerator()) {
      value = cpuGenerator(defaultGenerator(device_));
      return;
    }
    const at::Generator generator = value.toGenerator();
    TORCH_CHECK(generator.device().type() == kSim, opName(), ": expected a 'sim' device type for generator but found '",
                generator.device().str(), "'");
    value = cpuGenerator(generator);
  }

  void takeBackWritten() {
    if (!anyWritten_) return;
    for (const Lent& lent : lent_) syncWritten(lent.sim, lent.alias);
  }

  void takeBackResults() {
    const std::size_t begin = stack_.size() - plan_.results;
    for (std::size_t i = 0; i < plan_.results; ++i) {
      IValue& value = stack_[begin + i];
      if (value.isTensor()) {
        value = takeBack(std::move(value).toTensor());
      } else if (value.isTensorList()) {
        const auto tensors = value.toTensorList();
        c10::List<at::Tensor> taken;
        taken.reserve(tensors.size());
        for (std::size_t j = 0; j < tensors.size(); ++j) taken.push_back(takeBack(tensors.extract(j)));
        value = std::move(taken);
      }
    }
  }

  void reportTouches() const {
    OpTouches touches;
    for (const Lent& lent : lent_) touches.add(lent.sim, argumentName(lent.argument).c_str(), lent.written);
    const auto made = [&](const at::Tensor& result) {
      const auto same = [&](const Lent& lent) { return lent.sim.is_same(result); };
      if (result.defined() && isSim(result) && std::none_of(lent_.begin(), lent_.end(), same))
        touches.add(result, "result", true);
    };
    for (auto value = stack_.end() - plan_.results; value != stack_.end(); ++value) {
      if (value->isTensor()) made(value->toTensor());
      if (value->isTensorList())
        for (const at::Tensor& result : value->toTensorVector()) made(result);
    }
    touches.report(op_.operator_name().name.c_str(), device_);
  }

  at::Tensor takeBack(at::Tensor result) {
    if (!result.defined()) return result;
    const char* const name = op_.operator_name().name.c_str();
    if (!result.has_storage()) return simResult(std::move(result), device_, {}, name);
    if (anyWritten_)
      for (const Lent& lent : lent_)
        if (lent.alias.is_same(result)) return lent.sim;
    const c10::StorageImpl& storage = *result.storage().unsafeGetStorageImpl();
    if (isCompanion(storage))
      for (const Lent& lent : lent_)
        if (isCompanionOf(storage, *lent.sim.storage().unsafeGetStorageImpl()))
          return simResult(std::move(result), device_, lent.sim.storage(), name);
    return simResult(std::move(result), device_, {}, name);
  }

  const c10::OperatorHandle& op_;
  const OpPlan& plan_;
  Stack& stack_;
  const std::size_t base_;
  int device_ = -1;          // of the tensors; at last, of the call
  int explicitDevice_ = -1;  // a factory's device argument
  int first_ = -1;           // argument that decided device_
  int firstElement_ = -1;
  int generatorArgument_ = -1;
  bool anyWritten_ = false;
  c10::SmallVector<Lent, 6> lent_;
};

/// Plans of ops without a SimKernel, by the address of their name, which the dispatcher keeps in place.
const OpPlan& planOf(const c10::OperatorHandle& op) {
  static auto* const mutex = new std::mutex;
  static auto* const plans = new std::unordered_map<const void*, std::unique_ptr<OpPlan>>;
  const std::lock_guard lock(*mutex);
  auto& plan = (*plans)[&op.operator_name()];
  if (!plan) plan = std::make_unique<OpPlan>(op);
  return *plan;
}

}  // namespace

void SimKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) const {
  Call(op, plan_, *stack).run();
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::CPU))
    throwUnsupported(op.operator_name().name, "it has no CPU kernel, which sim would run", "write it with other ops");
  Call(op, planOf(op), *stack).run();
}

}  // namespace redraft::model::sim
