#include "model/sim/cpu_alias.h"

#include <utility>

#include "model/sim/sim_errors.h"
#include "model/sim/sim_state.h"
#include "model/sim/sim_storage.h"

namespace redraft::model::sim {
namespace {

c10::DispatchKeySet cpuKeys(c10::DispatchKeySet sim) {
  // Removing a backend takes no functionality with it: conj, neg and autograd keys stay.
  return (sim - c10::DispatchKeySet(c10::DispatchKey::AutocastPrivateUse1))
             .remove_backend(c10::BackendComponent::PrivateUse1Bit) |
         c10::DispatchKeySet(c10::BackendComponent::CPUBit);
}

/// A view of a sim tensor's companion. Copies the sizes with their contiguity flags instead of working them out again.
class AliasImpl final : public c10::TensorImpl {
 public:
  explicit AliasImpl(const c10::TensorImpl& sim)
      : TensorImpl(VIEW, cpuStorage(sim.unsafe_storage()), cpuKeys(sim.key_set()), sim.dtype()) {
    copy_generic_tensor_metadata(&sim, this);
    device_opt_ = c10::Device(c10::DeviceType::CPU);
  }
};

void moveToSim(c10::TensorImpl& tensor, c10::Storage storage) {
  const auto device = storage.device();
  tensor.set_storage_keep_dtype(std::move(storage));
  tensor._change_backend_component_keys(device);
}

bool isDenseStrided(const at::Tensor& cpu) {
  return cpu.layout() == at::kStrided && cpu.device().is_cpu() && !cpu.is_quantized();
}

}  // namespace

at::Tensor cpuAlias(const at::Tensor& sim) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>(c10::make_intrusive<AliasImpl>(*sim.unsafeGetTensorImpl())));
}

at::Tensor simResult(at::Tensor cpu, int device, const c10::Storage& storage, const char* op) {
  if (!isDenseStrided(cpu)) [[unlikely]]
    throwUnsupported(op, "its result is not a dense strided tensor",
                     "sim holds dense strided tensors only; use the CPU");
  if (storage) {
    if (cpu.use_count() > 1) cpu = cpu.alias();
    moveToSim(*cpu.unsafeGetTensorImpl(), storage);
    return cpu;
  }
  const bool shared =
      cpu.use_count() > 1 || (cpu.storage().use_count() > 1 && !isCompanion(*cpu.storage().unsafeGetStorageImpl()));
  if (shared) cpu = cpu.clone();
  moveToSim(*cpu.unsafeGetTensorImpl(), simStorage(cpu.storage(), device));
  return cpu;
}

void syncWritten(const at::Tensor& sim, const at::Tensor& alias) {
  c10::TensorImpl& to = *sim.unsafeGetTensorImpl();
  const c10::TensorImpl& from = *alias.unsafeGetTensorImpl();
  c10::StorageImpl& storage = *sim.storage().unsafeGetStorageImpl();
  if (isCompanionOf(*from.unsafe_storage().unsafeGetStorageImpl(), storage)) {
    syncStorage(storage);
  } else if (isCompanion(*from.unsafe_storage().unsafeGetStorageImpl())) {
    to.set_storage_keep_dtype(simStorage(from.storage(), sim.device().index()));
  }
  if (to.sizes() != from.sizes() || to.strides() != from.strides() || to.storage_offset() != from.storage_offset())
    to.set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

}  // namespace redraft::model::sim
