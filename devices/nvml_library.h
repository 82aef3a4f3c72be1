#pragma once
// The driver's management library (NVML), found at run time. Its header is not in every toolkit, so what is used of its
// types is here (NVML API Reference).

#include <dlfcn.h>

namespace redraft::devices {

using NvmlDevice = void*;
inline constexpr int kNvmlSuccess = 0, kNvmlInsufficientSize = 7;

/// NVML, initialised while this lives; works() says whether there is one.
class NvmlLibrary {
 public:
  explicit NvmlLibrary(const char* library) : library_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    const bool whole = bind(init_, "nvmlInit_v2") && bind(shutdown_, "nvmlShutdown") &&
                       bind(count_, "nvmlDeviceGetCount_v2") && bind(handle_, "nvmlDeviceGetHandleByIndex_v2") &&
                       bind(uuid_, "nvmlDeviceGetUUID");
    works_ = whole && init_() == kNvmlSuccess;
  }
  ~NvmlLibrary() {
    if (works_) shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
  }
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  bool works() const { return works_; }

  /// False where this NVML has no such function.
  template <class Function>
  bool bind(Function& function, const char* name) const {
    function = library_ == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library_, name));
    return function != nullptr;
  }

  unsigned count() const {
    unsigned count = 0;
    return works_ && count_(&count) == kNvmlSuccess ? count : 0;
  }
  /// Null where it cannot be had.
  NvmlDevice device(unsigned index) const {
    NvmlDevice device = nullptr;
    return handle_(index, &device) == kNvmlSuccess ? device : nullptr;
  }
  /// "GPU-…", as nvidia-smi -L prints it; "" where it cannot be had.
  const char* uuid(NvmlDevice device, char (&room)[96]) const {
    return uuid_(device, room, sizeof room) == kNvmlSuccess ? room : "";
  }

 private:
  void* library_;
  bool works_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, NvmlDevice*) = nullptr;
  int (*uuid_)(NvmlDevice, char*, unsigned) = nullptr;
};

}  // namespace redraft::devices
