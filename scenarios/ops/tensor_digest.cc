#include "scenarios/ops/tensor_digest.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <atomic>

#include "devices/artefact_store.h"
#include "devices/nvrtc.h"
#include "model/kernels/cuda/gpu_sources.h"
#include "model/kernels/cuda/tensor_digest.cuh"
#include "model/sim/cpu_alias.h"

namespace redraft::scenarios {

namespace {

constexpr std::int64_t kTableEntries = std::int64_t{1} << 20;
constexpr std::int64_t kBytesAThread = 64;

/// Hides what the digests call from observers, themselves among them, and from autograd.
struct Unseen {
  at::RecordFunctionGuard observers{/*is_enabled=*/false};
  at::AutoDispatchBelowADInplaceOrView autograd;
};

/// In the order of its storage where that has no gaps: copies of it are not needed then.
at::Tensor withoutGaps(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
}

}  // namespace

std::uint64_t digestOnHost(const at::Tensor& tensor) {
  const Unseen unseen;
  const at::Tensor host = withoutGaps(tensor.is_cpu() ? tensor : model::sim::cpuAlias(tensor));
  if (host.numel() == 0) return 0;
  return model::gpu::digestShare(static_cast<const unsigned char*>(host.const_data_ptr()),
                                 static_cast<std::int64_t>(host.nbytes()), 0, 1);
}

struct TensorDigests::Gpu {
  at::Tensor table;  // int64 [kTableEntries]
  std::vector<std::uint64_t> values;
  devices::Function kernel;
  std::atomic<std::int64_t> used{0};
};

TensorDigests::TensorDigests(devices::Driver* driver) : driver_(driver) {}
TensorDigests::~TensorDigests() = default;

void TensorDigests::prepare(int device, int architecture) {
  const c10::DeviceGuard guard({at::kCUDA, static_cast<c10::DeviceIndex>(device)});
  auto gpu = std::make_unique<Gpu>();
  gpu->table = at::zeros({kTableEntries}, at::TensorOptions(guard.current_device()).dtype(at::kLong));
  devices::ArtefactStore store(devices::ArtefactStore::defaultFolder());
  devices::Image image;
  image.name = kDigestKernel;
  image.cubin = devices::Nvrtc::open().compiledFrom(store, model::gpu::tensorDigestSource(), architecture);
  devices::Library library;
  devices::check(driver_->loadLibrary(image, &library), "loadLibrary", device, image.name);
  devices::check(driver_->libraryFunction(library, image.name, &gpu->kernel), "libraryFunction", device, image.name);
  // The table's zeros are there before any stream adds to it.
  c10::impl::VirtualGuardImpl(at::kCUDA).synchronizeDevice(static_cast<c10::DeviceIndex>(device));
  gpus_[device] = std::move(gpu);
}

DigestTicket TensorDigests::take(const at::Tensor& tensor) {
  if (!tensor.has_storage() || tensor.layout() != at::kStrided) return {DigestTicket::State::kFailed, -1, 0};
  if (tensor.is_cuda()) return takeOnGpu(tensor);
  return {DigestTicket::State::kKnown, -1, digestOnHost(tensor)};
}

DigestTicket TensorDigests::takeOnGpu(const at::Tensor& tensor) {
  const int device = tensor.device().index();
  const auto found = gpus_.find(device);
  if (found == gpus_.end()) return {DigestTicket::State::kFailed, device, 0};
  const std::int64_t place = found->second->used.fetch_add(1, std::memory_order_relaxed);
  if (place >= kTableEntries) return {DigestTicket::State::kFailed, device, 0};
  DigestTicket ticket{DigestTicket::State::kPending, device, static_cast<std::uint64_t>(place)};
  const Unseen unseen;
  const c10::DeviceGuard guard(tensor.device());
  const at::Tensor dense = withoutGaps(tensor);
  std::int64_t bytes = static_cast<std::int64_t>(dense.nbytes());
  if (bytes == 0) return ticket;

  devices::Context context;
  devices::check(driver_->current(&context), "current", device);
  if (!context) {  // an autograd thread's: model/kernels/kernel_call.cc
    devices::check(driver_->primaryContext(device, &context), "primaryContext", device);
    devices::check(driver_->setCurrent(context), "setCurrent", device);
  }
  const c10::impl::VirtualGuardImpl streams(at::kCUDA);
  devices::Stream stream;
  devices::check(driver_->adoptStream(streams.getStreamNativeHandle(streams.getStream(tensor.device())), &stream),
                 "adoptStream", device);
  const void* data = dense.const_data_ptr();
  void* sum = found->second->table.data_ptr<std::int64_t>() + place;
  const std::int64_t threads = (bytes + kBytesAThread - 1) / kBytesAThread;
  devices::LaunchShape shape;
  shape.block[0] = model::gpu::kDigestThreads;
  shape.grid[0] = static_cast<unsigned>(std::min<std::int64_t>(
      model::gpu::kDigestBlocks, (threads + model::gpu::kDigestThreads - 1) / model::gpu::kDigestThreads));
  devices::LaunchArguments arguments;
  arguments.params = {&data, &bytes, &sum};
  devices::check(driver_->launch(found->second->kernel, shape, stream, arguments), "launch", device, kDigestKernel);
  return ticket;
}

void TensorDigests::finish() {
  const Unseen unseen;
  for (auto& [device, gpu] : gpus_) {
    const c10::DeviceGuard guard({at::kCUDA, static_cast<c10::DeviceIndex>(device)});
    c10::impl::VirtualGuardImpl(at::kCUDA).synchronizeDevice(static_cast<c10::DeviceIndex>(device));
    const std::int64_t used = std::min(kTableEntries, gpu->used.load());
    const at::Tensor host = gpu->table.narrow(0, 0, used).to(at::kCPU);
    const auto* values = reinterpret_cast<const std::uint64_t*>(host.const_data_ptr<std::int64_t>());
    gpu->values.assign(values, values + used);
  }
}

std::optional<std::uint64_t> TensorDigests::valueOf(const DigestTicket& ticket) const {
  if (ticket.state == DigestTicket::State::kKnown) return ticket.value;
  if (ticket.state != DigestTicket::State::kPending) return std::nullopt;
  return gpus_.at(ticket.device)->values.at(static_cast<std::size_t>(ticket.value));
}

}  // namespace redraft::scenarios
