#include "model/pipeline/gradient_exchange.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/instrument.h"
#include "model/role.h"

namespace redraft::model {

namespace {

constexpr std::chrono::milliseconds kLookAgain{1000};  // nothing is missed: every change wakes the waiting

}  // namespace

GradientExchange::GradientExchange(GradientSum& sum, RunMonitor& monitor, int member, const std::string& role,
                                   const Drafter& drafter, std::int64_t leaves, const ExchangeOptions& options)
    : sum_(sum),
      monitor_(monitor),
      member_(member),
      device_(drafter.device()),
      leaves_(leaves),
      overlapped_(options.overlapped),
      buckets_(drafter.parameters(), backwardOrder(drafter.config()), options.bucketBytes),
      exposed_(device_),
      released_(options.overlapped) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const std::size_t count = buckets_.members(b).size();
    filling_.push_back({at::Tensor(), std::vector<bool>(buckets_.parameters(), false), count, GradientTree(leaves_)});
  }
  for (std::size_t p = 0; p < drafter.parameters().size(); ++p)
    drafter.parameters()[p].register_hook([this, p](const at::Tensor& gradient) { put(p, gradient); });
  thread_ = std::thread([this, role] { work(role); });
}

GradientExchange::~GradientExchange() {
  {
    const auto lock = monitor_.lock();
    closed_ = true;
  }
  monitor_.changed();
  thread_.join();
}

void GradientExchange::beginMicroBatch(std::int64_t index, std::int64_t step, bool last) {
  index_ = index;
  step_ = step;
  last_ = last;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    filling_[b].has.assign(buckets_.parameters(), false);
    filling_[b].missing = buckets_.members(b).size();
  }
}

void GradientExchange::put(std::size_t parameter, const at::Tensor& gradient) {
  const c10::NoGradGuard frozen;
  const std::size_t bucket = buckets_.bucketOf(parameter);
  Filling& filling = filling_[bucket];
  REDRAFT_CHECK(!filling.has[parameter], "a backward makes one gradient of a parameter");
  if (!filling.vector.defined()) filling.vector = buckets_.makeVector(bucket);
  const at::Tensor place = buckets_.view(filling.vector, parameter);
  if (gradient.defined()) {
    place.copy_(gradient);
  } else {
    place.zero_();
  }
  filling.has[parameter] = true;
  if (--filling.missing == 0) close(bucket);
}

void GradientExchange::close(std::size_t bucket) {
  Filling& filling = filling_[bucket];
  filling.tree.add({0, index_, std::exchange(filling.vector, {})}, combineGradients);
  if (!last_) return;
  Given given;
  std::vector<at::Tensor> vectors;
  for (GradientTree::Node& node : filling.tree.take()) {
    vectors.push_back(std::move(node.value));
    given.nodes.push_back({node.level, node.position, {}});
  }
  given.vectors = HandOff(std::move(vectors));
  given.step = step_;
  {
    const auto lock = monitor_.lock();
    given_.emplace(bucket, std::move(given));
  }
  monitor_.changed();
}

void GradientExchange::endMicroBatch() {
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    if (filling_[b].missing == 0) continue;
    for (const std::size_t parameter : buckets_.members(b))
      if (!filling_[b].has[parameter]) put(parameter, {});
  }
  if (last_) exposed_.begin();
}

std::vector<HandOff> GradientExchange::finish() {
  {
    const auto lock = monitor_.lock();
    released_ = true;
  }
  monitor_.changed();
  std::vector<HandOff> sums;
  for (std::size_t b = 0; b < buckets_.size(); ++b) sums.push_back(take(b));
  {
    const auto lock = monitor_.lock();
    released_ = overlapped_;
  }
  for (const HandOff& sum : sums) sum.acquire(device_);
  exposed_.end();
  return sums;
}

HandOff GradientExchange::take(std::size_t bucket) {
  auto lock = monitor_.lock();
  while (!monitor_.waitUpTo(kLookAgain, lock, [&] { return error_ != nullptr || summed_.count(bucket) != 0; })) {
  }
  if (error_ != nullptr) std::rethrow_exception(error_);
  HandOff sum = std::move(summed_.at(bucket));
  summed_.erase(bucket);
  return sum;
}

void GradientExchange::work(const std::string& role) noexcept {
  // Not the drafter's name, which a thread inherits: stacks of a hang are told apart by it.
  ::pthread_setname_np(::pthread_self(), ("exchange" + role.substr(std::min(role.find('['), role.size()))).c_str());
  try {
    const RoleScope scope(role);
    const c10::OptionalDeviceGuard guard(device_.is_cpu() ? std::optional<at::Device>() : device_);
    c10::OptionalStreamGuard stream;
    if (!device_.is_cpu()) {
      const c10::impl::VirtualGuardImpl impl(device_.type());
      // Before the blocks of large products, which would keep its few kernels waiting.
      stream.reset_stream(impl.getStreamFromGlobalPool(device_, /*isHighPriority=*/true));
    }
    sumBuckets();
  } catch (...) {
    const auto lock = monitor_.lock();
    error_ = std::current_exception();
  }
  monitor_.changed();
}

void GradientExchange::sumBuckets() {
  for (std::size_t bucket = 0;; bucket = (bucket + 1) % buckets_.size()) {
    std::optional<Given> given = next(bucket);
    if (!given) return;
    const StepScope step(given->step);
    const PhaseScope phase(devices::Phase::kAllReduce);
    given->vectors.acquire(device_);
    for (std::size_t i = 0; i < given->nodes.size(); ++i) given->nodes[i].value = given->vectors.tensors()[i];
    HandOff sum({sum_.reduce(member_, std::move(given->nodes), device_)});
    {
      const auto lock = monitor_.lock();
      summed_.emplace(bucket, std::move(sum));
    }
    monitor_.changed();
  }
}

std::optional<GradientExchange::Given> GradientExchange::next(std::size_t bucket) {
  auto lock = monitor_.lock();
  while (!monitor_.waitUpTo(kLookAgain, lock, [&] { return closed_ || (released_ && given_.count(bucket) != 0); })) {
  }
  if (closed_) return std::nullopt;
  Given given = std::move(given_.at(bucket));
  given_.erase(bucket);
  return given;
}

}  // namespace redraft::model
