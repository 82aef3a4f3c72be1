#include "harness/probe/cupti_loader.h"

#include <dlfcn.h>

#include "base/error.h"
#include "devices/cuda_loader.h"

namespace redraft::harness {
namespace {

constexpr const char* kLibrary = "libredraft_cupti.so";

template <class Function>
Function entryOf(const char* name) {
  static void* const library = devices::openRuntimeLibrary(kLibrary, "rebuild it with this program");
  const auto entry = reinterpret_cast<Function>(::dlsym(library, name));
  if (entry == nullptr) {
    throw Error(ErrorKind::kEnvironment, kLibrary, std::string("it does not export ") + name,
                "rebuild it with this program");
  }
  return entry;
}

[[noreturn]] void refuse(const CaptureRefusal& refusal) {
  throw Error(ErrorKind::kEnvironment, refusal.place, refusal.message, refusal.remedy);
}

}  // namespace

std::unique_ptr<DeviceCapture> startCapture(const CaptureOptions& options) {
  const CaptureHost host{&devices::currentOrigin, &devices::roleName};
  CaptureRefusal refusal;
  std::unique_ptr<DeviceCapture> capture(entryOf<StartCapture>(kStartCapture)(host, options, refusal));
  if (!capture) refuse(refusal);
  return capture;
}

std::string cuptiVersion() {
  CaptureRefusal refusal;
  const std::uint32_t version = entryOf<CuptiVersion>(kCuptiVersion)(refusal);
  if (version == 0) refuse(refusal);
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + " (" + std::to_string(version) +
         ')';
}

}  // namespace redraft::harness
