#include "devices/cuda/cuda_api.h"

#include <dlfcn.h>

namespace redraft::devices {

#define REDRAFT_TEXT(x) #x
#define REDRAFT_SYMBOL(x) REDRAFT_TEXT(x)

namespace {

template <class Entry>
bool lookUp(void* library, const char* symbol, Entry& entry, std::string& error) {
  entry = reinterpret_cast<Entry>(::dlsym(library, symbol));
  if (entry != nullptr) return true;
  error = std::string("the NVIDIA driver lacks ") + symbol + ": it is older than CUDA 13";
  return false;
}

}  // namespace

bool CudaApi::load(std::string& error) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    error = "libcuda.so.1 was not found: this machine has no NVIDIA driver";
    return false;
  }
#define REDRAFT_CUDA_LOOKUP(name) \
  if (!lookUp(library, REDRAFT_SYMBOL(name), (name), error)) return false;
  // The macro must expand `name` before it is made text, so it is not nested in REDRAFT_CUDA_CALLS' own argument.
  REDRAFT_CUDA_CALLS(REDRAFT_CUDA_LOOKUP)
#undef REDRAFT_CUDA_LOOKUP
  const CUresult started = cuInit(0);
  if (started != CUDA_SUCCESS) {
    error = "cuInit failed with " + std::to_string(static_cast<int>(started));
    return false;
  }
  return true;
}

}  // namespace redraft::devices
