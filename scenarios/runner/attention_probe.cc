#include "scenarios/runner/attention_probe.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "base/log.h"
#include "model/instrument.h"
#include "model/kernels/attention_artefact.h"
#include "model/kernels/cuda/gpu_sources.h"

namespace redraft::scenarios {
namespace {

constexpr std::int64_t kHeads = 4, kKeyHeads = 2, kHeadDim = 16, kBlocks = 12, kBlockSize = 8, kContext = 64;

model::AttentionArtefact artefactOf(const model::BlockMask& mask) {
  model::AttentionArtefact artefact;
  artefact.headDim = kHeadDim;
  artefact.kind = mask.kind;
  artefact.bfloat16 = true;
  return artefact;
}

model::AttentionShape shapeOf(const ProbeCase& probe) {
  model::AttentionShape shape{};
  shape.batch = 1;
  shape.heads = kHeads;
  shape.keyHeads = kKeyHeads;
  shape.queries = probe.mask.queries;
  shape.keys = probe.mask.keys;
  shape.headDim = kHeadDim;
  shape.context = kContext;
  shape.blockSize = kBlockSize;
  shape.window = probe.mask.window;
  shape.blocks = kBlocks;
  shape.scale = static_cast<float>(probe.scale);
  return shape;
}

}  // namespace

ProbeCase::ProbeCase(std::uint64_t seed) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const at::Tensor anchors = at::randint(1, kContext, {1, kBlocks}, generator, at::kLong);
  mask = model::makeDraftMask(anchors, at::ones({1, kBlocks}, at::kBool), kContext, kBlockSize, 0);
  const auto random = [&](std::int64_t heads, std::int64_t rows) {
    return at::randn({1, heads, rows, kHeadDim}, generator, at::kFloat).to(at::kBFloat16);
  };
  q = random(kHeads, mask.queries);
  k = random(kKeyHeads, mask.keys);
  v = random(kKeyHeads, mask.keys);
  expected = model::attention(q, k, v, mask, scale);
}

AttentionProbe::AttentionProbe(devices::Driver& driver, devices::Context context, int device, const ProbeCase& probe)
    : driver_(driver), context_(context), device_(device), case_(probe), out_(at::empty_like(probe.q)) {
  devices::check(driver.createStream(&stream_), "createStream", device);
  upload("q", probe.q);
  upload("k", probe.k);
  upload("v", probe.v);
  upload("out", out_, true);
  upload("lse", at::empty({1, kHeads, probe.mask.queries}, at::kFloat), true);
  upload("block_mask.row_offsets", probe.mask.rowOffsets);
  upload("block_mask.columns", probe.mask.columns);
  upload("block_mask.anchors", probe.mask.anchors);
  upload("block_mask.keep", probe.mask.keep);
  devices::check(driver.synchronizeStream(stream_), "synchronizeStream", device);
}

AttentionProbe::~AttentionProbe() {
  for (void* pointer : memory_) {
    const devices::Status status = driver_.free(pointer);
    if (status != devices::Status::kSuccess) log(LogLevel::kDebug, std::string("free: ") + devices::statusName(status));
  }
  const devices::Status status = driver_.destroyStream(stream_);
  if (status != devices::Status::kSuccess)
    log(LogLevel::kDebug, std::string("destroyStream: ") + devices::statusName(status));
}

void* AttentionProbe::upload(const char* name, const at::Tensor& tensor, bool written) {
  void* pointer = nullptr;
  devices::check(driver_.allocate(tensor.nbytes(), &pointer), "allocate", device_, name);
  memory_.push_back(pointer);
  touches_.push_back({name, pointer, tensor.nbytes(), written});
  devices::check(driver_.copy(pointer, tensor.const_data_ptr(), tensor.nbytes(), stream_), "copy", device_, name);
  // The copy reads pageable host memory, which `tensor` may not outlive.
  devices::check(driver_.synchronizeStream(stream_), "synchronizeStream", device_, name);
  return pointer;
}

at::Tensor AttentionProbe::launch(devices::KernelCache& cache) {
  const model::AttentionArtefact artefact = artefactOf(case_.mask);
  model::AttentionShape shape = shapeOf(case_);
  devices::LaunchArguments arguments;
  for (void*& pointer : memory_) arguments.params.push_back(&pointer);
  arguments.params.push_back(&shape);
  arguments.touches = touches_;
  const model::gpu::Launch plan = model::gpu::launches(model::gpu::Program::kAttentionForward, shape).at(0);

  model::instrument().syncPoint(model::SyncPoint::kKernelLookup, device_);
  devices::CacheRequest request{artefact.name(), model::instrument().kernelCallSiteDevice(device_), {}};
  devices::check(driver_.current(&request.context), "current", device_, request.artefact);
  const devices::Function function = cache.get(request, plan.entry);
  model::instrument().syncPoint(model::SyncPoint::kKernelLaunch, device_);
  devices::check(driver_.launch(function, plan.shape, stream_, arguments), "launch", device_, request.artefact);
  devices::check(driver_.copy(out_.mutable_data_ptr(), memory_[3], out_.nbytes(), stream_), "copy", device_, "out");
  devices::check(driver_.synchronizeStream(stream_), "synchronizeStream", device_, "out");
  return out_.clone();
}

}  // namespace redraft::scenarios
