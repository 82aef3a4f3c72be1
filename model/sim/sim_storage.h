#pragma once
// Memory of sim tensors. A sim storage has a companion: a CPU storage over the same bytes, which CPU kernels work on,
// so that no op copies anything and none allocates a storage for an argument. The companion owns the bytes; the sim
// storage owns a reference to the companion. Whatever a CPU kernel does to the companion's memory (out= and resize_
// grow it) is brought to the sim storage by syncStorage().
//
// Every byte is accounted on its device: memory allocated here comes from the driver; memory that a CPU kernel
// allocated for its result is adopted by it.

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

namespace redraft::model::sim {

/// Allocator of sim storages: on the current device, 64-byte aligned.
c10::Allocator* simAllocator();
/// Page-locked host memory, as far as PyTorch asks: host memory that isPinned() knows.
c10::Allocator* pinnedAllocator();
bool isPinned(const void* pointer);

/// The companion of a sim storage, sharing its bytes. A storage that was not made here (from_blob) gets one for the
/// call.
c10::Storage cpuStorage(const c10::Storage& sim);

/// True when `cpu` is the companion of some sim storage.
bool isCompanion(const c10::StorageImpl& cpu);
/// True when `cpu` is the companion of `sim`.
bool isCompanionOf(const c10::StorageImpl& cpu, const c10::StorageImpl& sim);

/// A sim storage on `device` with `cpu` as its companion. Memory that is not the driver's yet is adopted, so `cpu` must
/// be unique or a companion.
c10::Storage simStorage(c10::Storage cpu, int device);

/// Brings pointer and size of a sim storage up to date with its companion.
void syncStorage(c10::StorageImpl& sim);

/// Grows or shrinks a sim storage; keeps the bytes that fit.
void resizeStorage(c10::StorageImpl& sim, std::size_t bytes);

}  // namespace redraft::model::sim
