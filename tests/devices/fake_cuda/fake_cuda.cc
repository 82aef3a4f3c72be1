#include "tests/devices/fake_cuda/fake_cuda.h"

#include <array>
#include <deque>
#include <mutex>

namespace {

constexpr int kDevices = 2;

struct Context {
  int device = 0;
};
struct Stream {
  Context* context = nullptr;
  unsigned long long id = 0;
};

std::mutex gMutex;
std::array<Context, kDevices> gPrimaries{{{0}, {1}}};
std::array<bool, kDevices> gActive{};
std::array<int, kDevices> gRetains{};
std::deque<Context> gContexts;  // addresses stay
std::deque<Stream> gStreams;
unsigned long long gNextStream = 1;
int gDestroyed = 0;
thread_local Context* gCurrent = nullptr;

CUcontext handle(Context* context) { return reinterpret_cast<CUcontext>(context); }
Context* contextOf(CUcontext context) { return reinterpret_cast<Context*>(context); }

CUstream makeStream(Context* context) {
  gStreams.push_back({context, gNextStream++});
  return reinterpret_cast<CUstream>(&gStreams.back());
}

void reset() {
  gActive = {};
  gRetains = {};
  gDestroyed = 0;
  gCurrent = nullptr;
}

void bindPrimary(int device) {
  gActive[device] = true;
  gCurrent = &gPrimaries[device];
}

void bindForeign(int device) {
  gContexts.push_back({device});
  gCurrent = &gContexts.back();
}

CUstream makeForeignStream(int device) { return makeStream(&gPrimaries[device]); }
void replaceStream(CUstream stream, int device) {
  *reinterpret_cast<Stream*>(stream) = {&gPrimaries[device], gNextStream++};
}

}  // namespace

extern "C" {

const redraft::devices::fake::Control* redraftFakeCuda() {
  static const redraft::devices::fake::Control control = {reset,
                                                          bindPrimary,
                                                          bindForeign,
                                                          makeForeignStream,
                                                          replaceStream,
                                                          [](int device) { return gRetains[device]; },
                                                          [] { return gDestroyed; }};
  return &control;
}

/// Of 132 multiprocessors, in partitions of eight.
CUresult cuDeviceGetDevResource(CUdevice, CUdevResource* resource, CUdevResourceType type) {
  *resource = {};
  resource->type = type;
  resource->sm.smCount = 132;
  return CUDA_SUCCESS;
}
CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups, const CUdevResource* input,
                                     CUdevResource*, unsigned, unsigned least) {
  const unsigned each = (least + 7) / 8 * 8;
  if (each == 0) return CUDA_ERROR_INVALID_VALUE;
  if (*groups > input->sm.smCount / each) *groups = input->sm.smCount / each;
  for (unsigned i = 0; i < *groups; ++i) {
    result[i] = *input;
    result[i].sm.smCount = each;
  }
  return CUDA_SUCCESS;
}
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc*, CUdevResource*, unsigned) { return CUDA_SUCCESS; }
CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc, CUdevice device, unsigned flags) {
  if (flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  gContexts.push_back({device});
  *context = reinterpret_cast<CUgreenCtx>(&gContexts.back());
  return CUDA_SUCCESS;
}
CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx context, unsigned flags, int) {
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  *stream = makeStream(reinterpret_cast<Context*>(context));
  return CUDA_SUCCESS;
}
CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) {
  *count = kDevices;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "the fake driver refuses";
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  *flags = 0;
  *active = gActive[device] ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  gActive[device] = true;
  ++gRetains[device];
  *context = handle(&gPrimaries[device]);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  *device = contextOf(context)->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  gCurrent = contextOf(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = handle(gCurrent);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  if (gCurrent == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(gMutex);
  *stream = makeStream(gCurrent);
  return CUDA_SUCCESS;
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  *id = reinterpret_cast<Stream*>(stream)->id;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  *context = handle(reinterpret_cast<Stream*>(stream)->context);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream) {
  ++gDestroyed;
  return CUDA_SUCCESS;
}

}  // extern "C"
