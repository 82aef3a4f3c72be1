// Every entry point that CudaApi looks up, weak, so that fake_cuda.cc's take their place where there are any.
#include "devices/cuda/cuda_api.h"

extern "C" CUresult redraftFakeUnsupported() { return CUDA_ERROR_NOT_SUPPORTED; }

#define REDRAFT_TEXT(x) #x
#define REDRAFT_SYMBOL(x) REDRAFT_TEXT(x)
#define REDRAFT_FAKE(name) \
  __asm__(".weak " REDRAFT_SYMBOL(name) "\n.set " REDRAFT_SYMBOL(name) ", redraftFakeUnsupported\n");
REDRAFT_CUDA_CALLS(REDRAFT_FAKE)
