#include "model/sim/op_touches.h"

#include "model/sim/sim_state.h"

namespace redraft::model::sim {
namespace {

/// Elements from the first to the last; 0 when there is none.
std::int64_t spanOf(const c10::TensorImpl& tensor) {
  if (tensor.numel() == 0 || tensor.is_contiguous()) return tensor.numel();
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.sizes()[i] - 1) * tensor.strides()[i];
  return last + 1;
}

}  // namespace

bool reportsOps() { return state().reportsOps.load(std::memory_order_relaxed); }

void OpTouches::add(const at::Tensor& sim, const char* name, bool written) {
  const c10::TensorImpl& tensor = *sim.unsafeGetTensorImpl();
  if (!tensor.has_storage()) return;
  const auto item = static_cast<std::int64_t>(tensor.itemsize());
  const auto* begin = static_cast<const std::byte*>(tensor.storage().data());
  const std::int64_t bytes = spanOf(tensor) * item;
  if (begin == nullptr || bytes == 0) return;
  touches_.push_back({name, begin + tensor.storage_offset() * item, static_cast<std::size_t>(bytes), written});
}

void OpTouches::report(const char* op, int device) {
  if (!touches_.empty()) driver().noteWork(currentStream(device), op, {touches_.data(), touches_.size()});
}

}  // namespace redraft::model::sim
