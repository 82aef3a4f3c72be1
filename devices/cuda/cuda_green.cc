// Green contexts: a device's multiprocessors shared out. They are never current: their streams are used with the
// primary context current, which the driver allows (measured), and a green context may be current on one thread at a
// time.
#include <algorithm>

#include "devices/cuda/cuda_driver.h"

namespace redraft::devices {
namespace {

constexpr unsigned kAlignment = 8;  // of a partition, on compute capability 9.0 and later

}  // namespace

CUresult CudaDriver::greenStream(const CUdevResource& share, int device, GreenStream* stream) {
  CUdevResource resource = share;
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  CUstream handle = nullptr;
  CUresult result = api_.cuDevResourceGenerateDesc(&description, &resource, 1);
  if (result == CUDA_SUCCESS)
    result = api_.cuGreenCtxCreate(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM);
  if (result == CUDA_SUCCESS) result = api_.cuGreenCtxStreamCreate(&handle, context, CU_STREAM_NON_BLOCKING, 0);
  *stream = {handle, static_cast<int>(share.sm.smCount)};
  return result;
}

Status CudaDriver::greenStreams(int device, int count, std::vector<GreenStream>* streams) {
  streams->clear();
  if (!validDevice(device)) return finish(CallKind::kStreamCreate, CUDA_ERROR_INVALID_DEVICE);
  if (count < 1) return finish(CallKind::kStreamCreate, CUDA_ERROR_INVALID_VALUE);
  Context primary;  // theirs: it stays as long as they do
  if (const Status status = primaryContext(device, &primary); status != Status::kSuccess) return status;
  CUdevResource all{};
  CUresult result = api_.cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM);
  const unsigned wanted = static_cast<unsigned>(count);
  const unsigned each = all.sm.smCount / wanted / kAlignment * kAlignment;
  if (result == CUDA_SUCCESS && each == 0) result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  std::vector<CUdevResource> shares(wanted);
  unsigned got = wanted;
  if (result == CUDA_SUCCESS) result = api_.cuDevSmResourceSplitByCount(shares.data(), &got, &all, nullptr, 0, each);
  if (result == CUDA_SUCCESS && got < wanted) result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  for (unsigned i = 0; i < wanted && result == CUDA_SUCCESS; ++i)
    result = greenStream(shares[i], device, &streams->emplace_back());
  if (result != CUDA_SUCCESS) streams->clear();
  return finish(CallKind::kStreamCreate, result, [&](LogRecord& record) {
    record.name = "green contexts";
    record.device = device;
  });
}

}  // namespace redraft::devices
