#include "scenarios/runner/attention_moves.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <atomic>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/philox.h"
#include "scenarios/ops/op_call.h"

namespace redraft::scenarios {

namespace {

constexpr double kMove = 0x1p-7;
constexpr std::uint64_t kTensorsACall = 8;
constexpr std::size_t kForwardInputs = 3, kBackwardInputs = 1;  // q, k, v; the output's gradient
constexpr std::size_t kForwardOutputs = 1, kBackwardOutputs = 3;

std::atomic<AttentionMoves*> installed{nullptr};

bool isBackward(const at::RecordFunction& call) { return std::string_view(call.name()).ends_with("_backward"); }

/// Random bits of the places 0 … count - 1 of one key's sequence: a hash in the device's own integers, which wrap.
at::Tensor bitsOf(std::int64_t count, std::uint64_t key, at::Device device) {
  at::Tensor x = at::arange(count, at::TensorOptions(device).dtype(at::kLong));
  x.add_(static_cast<std::int64_t>(key * 0xbf58476d1ce4e5b9u));  // sequences of neighbouring keys lie far apart
  for (const std::uint64_t factor : {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u}) {
    x.mul_(static_cast<std::int64_t>(factor));
    x.bitwise_xor_(at::bitwise_right_shift(x, 32));
  }
  return x.bitwise_and_(1);
}

/// The first `count` tensors among these values.
template <class Values>
void moveFirst(const Values& values, std::size_t count, std::uint64_t key) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < values.size() && number < count; ++i)
    eachTensor(values[i], [&](const at::Tensor& each) {
      if (number < count && !each.is_cpu()) moveByTwoRoundoffs(each, key + number);
      ++number;
    });
}

}  // namespace

struct AttentionMoves::Call : at::ObserverContext {
  explicit Call(std::uint64_t key) : key(key) {}
  const std::uint64_t key;
};

void moveByTwoRoundoffs(const at::Tensor& x, std::uint64_t key) {
  const at::Tensor up = bitsOf(x.numel(), key, x.device()).to(x.scalar_type());
  x.mul_(up.mul_(2 * kMove).add_(1 - kMove).view(x.sizes()));
}

AttentionMoves::AttentionMoves(std::uint64_t seed) : seed_(seed) {
  AttentionMoves* none = nullptr;
  REDRAFT_CHECK(installed.compare_exchange_strong(none, this), "one a process");
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(begin, end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
}

AttentionMoves::~AttentionMoves() {
  at::removeCallback(handle_);
  installed.store(nullptr);
}

std::unique_ptr<at::ObserverContext> AttentionMoves::begin(const at::RecordFunction& call) {
  AttentionMoves* const self = installed.load();
  const std::string_view name = call.name();
  const bool attention = name == "redraft::attention" || name == "redraft::attention_backward";
  if (self == nullptr || !attention || devices::currentOrigin().phase == devices::Phase::kEvaluate) return nullptr;
  auto context = std::make_unique<Call>(self->nextKey());
  const at::RecordFunctionGuard unobserved(/*is_enabled=*/false);
  const at::AutoDispatchBelowADInplaceOrView undifferentiated;
  moveFirst(inputsOf(call), isBackward(call) ? kBackwardInputs : kForwardInputs, context->key);
  return context;
}

void AttentionMoves::end(const at::RecordFunction& call, at::ObserverContext* context) {
  if (installed.load() == nullptr || context == nullptr) return;
  const at::RecordFunctionGuard unobserved(/*is_enabled=*/false);
  const at::AutoDispatchBelowADInplaceOrView undifferentiated;
  moveFirst(call.outputs(), isBackward(call) ? kBackwardOutputs : kForwardOutputs,
            static_cast<Call*>(context)->key + kForwardInputs);
}

std::uint64_t AttentionMoves::nextKey() {
  const devices::Origin origin = devices::currentOrigin();
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    auto& [step, calls] = calls_[{origin.role, origin.phase}];
    if (std::exchange(step, origin.step) != origin.step) calls = 0;
    number = calls++;
  }
  const auto phase = static_cast<std::uint64_t>(origin.phase);
  CounterRng keys(seed_, "attention of " + devices::roleName(origin.role), static_cast<std::uint64_t>(origin.step),
                  number << 8 | phase);
  return keys.next64() / kTensorsACall * kTensorsACall;  // one each for the call's tensors
}

}  // namespace redraft::scenarios
