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

std::string findLibrary(const std::string& name) {
  const std::string folder = programFolder();
  for (const std::string& candidate : {joinPath(folder, name), joinPath(folder, "../lib/" + name)}) {
    if (fileExists(candidate)) return candidate;
  }
  return "";
}

}  // namespace

void* openRuntimeLibrary(const std::string& name, const std::string& remedy) {
  const std::string path = findLibrary(name);
  if (path.empty()) {
    throw Error(ErrorKind::kEnvironment, name, "this build has no CUDA side",
                "build it where a CUDA 13 toolkit is found: cmake -DREDRAFT_CUDA=ON");
  }
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ErrorKind::kEnvironment, path, ::dlerror(), remedy);
  return library;
}

namespace {

template <class Function>
Function entryOf(const char* name) {
  static void* const library = openRuntimeLibrary(kLibrary, "rebuild it with this program");
  const auto entry = reinterpret_cast<Function>(::dlsym(library, name));
  if (entry == nullptr) {
    throw Error(ErrorKind::kEnvironment, kLibrary, std::string("it does not export ") + name,
                "rebuild it with this program");
  }
  return entry;
}

}  // namespace

std::unique_ptr<Driver> loadCudaDriver(const CudaOptions& options) {
  const auto make = entryOf<MakeCudaDriver>(kMakeCudaDriver);
  const CudaHost host{&makeDriverLog, &newLogRecord, &noteRefusal};
  std::string error;
  std::unique_ptr<Driver> driver(make(host, options, error));
  if (!driver)
    throw Error(ErrorKind::kEnvironment, "CUDA", error, "run on a machine with an NVIDIA GPU and its driver");
  return driver;
}

int cudaArchitecture(Driver& driver, int device) {
  int version = 0;
  check(entryOf<CudaArchitecture>(kCudaArchitecture)(driver, device, &version), "architecture", device);
  return version;
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
