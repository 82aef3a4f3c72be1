#include "model/sim/sim_storage.h"

#include <ATen/native/Resize.h>
#include <c10/core/CPUAllocator.h>

#include <array>
#include <cstring>
#include <utility>

#include "model/sim/sim_errors.h"
#include "model/sim/sim_state.h"

namespace redraft::model::sim {
namespace {

const c10::Device kCpu(c10::DeviceType::CPU);

void freeOnDriver(void* pointer) { logRefusal(driver().free(pointer), "free", -1); }

/// Allocator of the companions of one device's storages: CPU kernels that grow an out= tensor come here.
class DeviceMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, kCpu};
    const DeviceScope scope(device);
    void* pointer = nullptr;
    devices::check(driver().allocate(bytes, &pointer), "allocate", device, std::to_string(bytes) + " bytes");
    return {pointer, pointer, &freeOnDriver, kCpu};
  }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }

  int device = -1;
};

using DeviceMemories = std::array<DeviceMemory, kMaxDevices>;

DeviceMemories& deviceMemories() {
  static DeviceMemories* const memories = [] {  // kept: storages may die after static objects
    auto* made = new DeviceMemories;
    for (std::size_t i = 0; i < made->size(); ++i) (*made)[i].device = static_cast<int>(i);
    return made;
  }();
  return *memories;
}

void releaseCompanion(void* context) {
  c10::intrusive_ptr<c10::StorageImpl>::reclaim(static_cast<c10::StorageImpl*>(context)).reset();
}

c10::StorageImpl* companionOf(const c10::StorageImpl& sim) {
  const c10::DataPtr& pointer = sim.data_ptr();
  if (pointer.get_deleter() != &releaseCompanion) return nullptr;
  return static_cast<c10::StorageImpl*>(pointer.get_context());
}

/// A DataPtr of a sim storage; takes over one reference to `companion`.
c10::DataPtr simPointer(c10::StorageImpl* companion, c10::Device device) {
  return {const_cast<void*>(companion->data()), companion, &releaseCompanion, device};
}

class SimAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const int device = bindCurrentDevice();
    auto& memory = deviceMemories()[device];
    auto companion = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                           memory.allocate(bytes), &memory, /*resizable=*/true);
    return simPointer(companion.release(), c10::Device(kSim, static_cast<c10::DeviceIndex>(device)));
  }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
};

void releaseAdopted(void* pointer) {
  logRefusal(driver().releaseMemory(pointer), "releaseMemory", -1);
  c10::GetDefaultCPUAllocator()->raw_deleter()(pointer);
}

/// Memory of another allocator than the default one keeps its own DataPtr.
void releaseForeign(void* context) {
  auto* const held = static_cast<c10::DataPtr*>(context);
  logRefusal(driver().releaseMemory(held->get()), "releaseMemory", -1);
  delete held;
}

/// Accounts a CPU kernel's result on `device`, and makes it a companion.
void adopt(c10::StorageImpl& cpu, int device) {
  void* const data = cpu.mutable_data();  // a lazily cloned storage copies here
  if (data != nullptr && cpu.nbytes() > 0) {
    devices::check(driver().adoptMemory(data, cpu.nbytes(), device), "adoptMemory", device,
                   std::to_string(cpu.nbytes()) + " bytes");
    c10::DataPtr& pointer = cpu._mutable_data_ptr_no_checks();
    static const auto defaultDeleter = c10::GetDefaultCPUAllocator()->raw_deleter();
    if (pointer.get_context() != data || !pointer.compare_exchange_deleter(defaultDeleter, &releaseAdopted)) {
      auto* const held = new c10::DataPtr(std::move(pointer));
      cpu.set_data_ptr_noswap({data, held, &releaseForeign, kCpu});
    }
  }
  cpu.set_allocator(&deviceMemories()[device]);
  cpu.set_resizable(true);
}

}  // namespace

c10::Allocator* simAllocator() {
  static auto* const allocator = new SimAllocator;
  return allocator;
}

bool isCompanion(const c10::StorageImpl& cpu) {
  const auto& memories = deviceMemories();
  const auto* const allocator = cpu.allocator();
  return allocator >= &memories.front() && allocator <= &memories.back();
}

bool isCompanionOf(const c10::StorageImpl& cpu, const c10::StorageImpl& sim) { return companionOf(sim) == &cpu; }

c10::Storage cpuStorage(const c10::Storage& sim) {
  if (auto* const companion = companionOf(*sim.unsafeGetStorageImpl())) [[likely]]
    return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(companion));
  auto* const held = new c10::Storage(sim);
  c10::DataPtr pointer(
      const_cast<void*>(sim.data()), held, [](void* context) { delete static_cast<c10::Storage*>(context); }, kCpu);
  return {c10::Storage::use_byte_size_t(), sim.nbytes(), std::move(pointer)};
}

c10::Storage simStorage(c10::Storage cpu, int device) {
  if (!isCompanion(*cpu.unsafeGetStorageImpl())) adopt(*cpu.unsafeGetStorageImpl(), device);
  const auto bytes = cpu.nbytes();
  return {c10::Storage::use_byte_size_t(), bytes,
          simPointer(cpu.unsafeReleaseStorageImpl(), c10::Device(kSim, static_cast<c10::DeviceIndex>(device))),
          simAllocator(), /*resizable=*/true};
}

void syncStorage(c10::StorageImpl& sim) {
  auto* const companion = companionOf(sim);
  if (companion == nullptr || (companion->data() == sim.data() && companion->nbytes() == sim.nbytes())) return;
  const auto device = sim.device();
  sim._mutable_data_ptr_no_checks().release_context();
  sim.set_data_ptr_noswap(simPointer(companion, device));
  sim.set_nbytes(companion->nbytes());
}

void resizeStorage(c10::StorageImpl& sim, std::size_t bytes) {
  auto* const companion = companionOf(sim);
  if (companion == nullptr)
    throwUnsupported("aten::resize_", "the storage on " + deviceText(sim.device()) + " was not allocated by sim",
                     "copy the tensor first");
  at::native::resize_bytes_cpu(companion, bytes);
  syncStorage(sim);
}

}  // namespace redraft::model::sim
