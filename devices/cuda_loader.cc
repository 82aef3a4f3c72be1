#include "devices/cuda_loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace redraft::devices {
namespace {

constexpr const char* kLibrary = "libredraft_cuda.so";

std::string programFolder() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == static_cast<ssize_t>(sizeof path)) return "";
  const std::string whole(path, static_cast<std::size_t>(length));
  return whole.substr(0, whole.rfind('/'));
}

std::string findLibrary() {
  const std::string folder = programFolder();
  for (const std::string& candidate :
       {joinPath(folder, kLibrary), joinPath(folder, std::string("../lib/") + kLibrary)}) {
    if (fileExists(candidate)) return candidate;
  }
  return "";
}

/// Loaded once and kept: a library that holds a CUDA driver's state is not unloaded under it.
void* openLibrary() {
  const std::string path = findLibrary();
  if (path.empty()) {
    throw Error(ErrorKind::kEnvironment, kLibrary, "this build has no CUDA side",
                "build it where a CUDA 13 toolkit is found: cmake -DREDRAFT_CUDA=ON");
  }
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorKind::kEnvironment, path, ::dlerror(), "rebuild it with this program");
  }
  return library;
}

}  // namespace

std::unique_ptr<Driver> loadCudaDriver(const CudaOptions& options) {
  static void* const library = openLibrary();
  const auto make = reinterpret_cast<MakeCudaDriver>(::dlsym(library, kMakeCudaDriver));
  if (make == nullptr) {
    throw Error(ErrorKind::kEnvironment, kLibrary, "it does not export redraftMakeCudaDriver",
                "rebuild it with this program");
  }
  const CudaHost host{&makeDriverLog, &newLogRecord, &noteRefusal};
  std::string error;
  std::unique_ptr<Driver> driver(make(host, options, error));
  if (!driver)
    throw Error(ErrorKind::kEnvironment, "CUDA", error, "run on a machine with an NVIDIA GPU and its driver");
  return driver;
}

std::string whyNoCuda() {
  try {
    loadCudaDriver({});
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

}  // namespace redraft::devices
