#include "model/sim/sim_ops.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/native_dropout_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <memory>
#include <vector>

#include "base/keep.h"
#include "model/sim/sim_copy.h"
#include "model/sim/sim_errors.h"
#include "model/sim/sim_fallback.h"
#include "model/sim/sim_guard.h"
#include "model/sim/sim_state.h"
#include "model/sim/sim_storage.h"

namespace redraft::model::sim {
namespace {

constexpr c10::DispatchKeySet kSimKeys(c10::DispatchKey::PrivateUse1);

int factoryDevice(const char* op, std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                  std::optional<bool> pinned) {
  if (layout.value_or(c10::kStrided) != c10::kStrided)
    throwUnsupported(op, "this layout", "sim holds dense strided tensors only; use the CPU");
  if (pinned.value_or(false))
    throwUnsupported(op, "memory of a sim device cannot be pinned", "pin the CPU tensor that it is copied from");
  return device && device->has_index() ? device->index() : currentDevice();
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<c10::Layout> layout,
                 std::optional<c10::Device> device, std::optional<bool> pinned,
                 std::optional<at::MemoryFormat> format) {
  const DeviceScope scope(factoryDevice("aten::empty", layout, device, pinned));
  return at::detail::empty_generic(size, simAllocator(), kSimKeys, c10::dtype_or_default(dtype), format);
}

at::Tensor emptyStrided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                        std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                        std::optional<bool> pinned) {
  const DeviceScope scope(factoryDevice("aten::empty_strided", layout, device, pinned));
  return at::detail::empty_strided_generic(size, stride, simAllocator(), kSimKeys, c10::dtype_or_default(dtype));
}

at::Tensor& setStorage(at::Tensor& self, at::Storage source, std::int64_t offset, at::IntArrayRef size,
                       at::IntArrayRef stride) {
  if (source.device_type() != kSim)
    throwMixedDevices("aten::set_", {self.device(), "self"}, {source.device(), "source"});
  at::native::checkSetStorage(self, std::move(source), offset, size, stride);
  c10::TensorImpl* const impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  if (stride.data() != nullptr) {
    impl->set_sizes_and_strides(size, stride);
  } else {
    impl->set_sizes_contiguous(size);
  }
  const auto bytes = at::detail::computeStorageNbytes(impl->sizes(), impl->strides(), self.itemsize(), offset);
  if (impl->numel() > 0 && bytes > self.storage().nbytes())
    resizeStorage(*self.storage().unsafeGetStorageImpl(), bytes);
  return self;
}

at::Tensor& setEmpty(at::Tensor& self) {
  const DeviceScope scope(self.device().index());
  return self.set_(at::Storage(at::Storage::use_byte_size_t(), 0, simAllocator(), /*resizable=*/true), 0, {0}, {});
}

void recordStream(at::Tensor& self, c10::Stream stream) {
  SimGuard().recordDataPtrOnStream(self.storage().data_ptr(), stream);
}

/// The dispatcher calls the fallback with a plain function.
void boxedFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) { fallback(op, stack); }

void registerOwn(torch::Library& aten) {
  aten.impl("empty.memory_format", TORCH_FN(empty));
  aten.impl("empty_strided", TORCH_FN(emptyStrided));
  aten.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  aten.impl("view", TORCH_FN(at::native::view));
  aten.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  aten.impl("unfold", TORCH_FN(at::native::unfold));
  aten.impl("set_.source_Storage", TORCH_FN(static_cast<at::Tensor& (*)(at::Tensor&, at::Storage)>(at::native::set_)));
  aten.impl("set_.source_Storage_storage_offset", TORCH_FN(setStorage));
  aten.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  aten.impl("set_", TORCH_FN(setEmpty));
  aten.impl("_copy_from", TORCH_FN(copyFrom));
  aten.impl("_copy_from_and_resize", TORCH_FN(copyFromAndResize));
  aten.impl("_local_scalar_dense", TORCH_FN(localScalar));
  // Built from other ops, so that its numbers come from the device's generator; the CPU kernel would take the CPU's.
  aten.impl("native_dropout", TORCH_FN(at::native::native_dropout_cpu));
  aten.impl("record_stream", TORCH_FN(recordStream));
}

/// copyFrom() takes conj and neg views as they are; without this, PyTorch materialises them by a copy of its own, which
/// comes here again.
void passLazyBits(torch::Library& aten) { aten.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

torch::Library& keptLibrary(const char* space, c10::DispatchKey key) {  // registered for the rest of the process
  return keepForProcess(std::make_unique<torch::Library>(torch::Library::IMPL, space, key, __FILE__, __LINE__));
}

/// Ops without a CPU kernel that nonetheless run as one: taken apart on sim they would end in kernels that only exist
/// for devices PyTorch knows.
bool runsWholeOnCpu(const c10::OperatorName& name) {
  return name.name == "aten::convolution" || name.name == "aten::convolution_backward";
}

/// One SimKernel for each aten op with a CPU kernel and none of ours. Without it, structured ops would take PyTorch's
/// device-independent decomposition, which works out every shape twice.
void registerOverCpuKernels() {
  auto& dispatcher = c10::Dispatcher::singleton();
  static auto* const kept = new std::vector<c10::RegistrationHandleRAII>;  // registered for the rest of the process
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (!name.name.starts_with("aten::")) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op || op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) continue;
    if (!op->hasKernelForDispatchKey(c10::DispatchKey::CPU) && !runsWholeOnCpu(name)) continue;
    kept->push_back(dispatcher.registerImpl(name, c10::DispatchKey::PrivateUse1,
                                            c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<SimKernel>(*op)),
                                            std::nullopt, nullptr, "sim"));
  }
}

}  // namespace

void registerKernels() {
  registerOwn(keptLibrary("aten", c10::DispatchKey::PrivateUse1));
  passLazyBits(keptLibrary("aten", c10::DispatchKey::Conjugate));
  passLazyBits(keptLibrary("aten", c10::DispatchKey::Negative));
  registerOverCpuKernels();
  keptLibrary("_", c10::DispatchKey::PrivateUse1).fallback(torch::CppFunction::makeFromBoxedFunction<&boxedFallback>());
}

}  // namespace redraft::model::sim
