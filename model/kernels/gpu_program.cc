#include "model/kernels/gpu_program.h"

#include <c10/core/DeviceGuard.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/keep.h"
#include "devices/artefact_store.h"
#include "devices/cuda_loader.h"
#include "devices/nvrtc.h"
#include "model/kernels/kernel_call.h"

namespace redraft::model::gpu {
namespace {

FusedEmulation gEmulation;

const char* nameOf(FusedProgram program) { return program == FusedProgram::kRowOps ? "row_ops" : "optimizer"; }

class Programs {
 public:
  Programs() : driver_(devices::loadCudaDriver({})), store_(devices::ArtefactStore::defaultFolder()) {
    driver_->log().mute(devices::CallKind::kLaunch, true);
  }

  devices::Driver& driver() { return *driver_; }

  devices::Function function(int device, const FusedLaunch& launch) {
    const std::lock_guard lock(mutex_);
    const FunctionKey key{device, launch.program, launch.element, launch.entry};
    const auto found = functions_.find(key);
    if (found != functions_.end()) return found->second;
    devices::Function made;
    devices::check(driver_->libraryFunction(library(device, launch), launch.entry, &made), "libraryFunction", device,
                   launch.entry);
    functions_.emplace(key, made);
    return made;
  }

 private:
  using FunctionKey = std::tuple<int, FusedProgram, at::ScalarType, std::string>;
  using LibraryKey = std::tuple<int, FusedProgram, at::ScalarType>;  // by architecture

  devices::Library library(int device, const FusedLaunch& launch) {
    const int architecture = devices::cudaArchitecture(*driver_, device);
    const LibraryKey key{architecture, launch.program, launch.element};
    const auto found = libraries_.find(key);
    if (found != libraries_.end()) return found->second;
    const bool bfloat16 = launch.element == at::kBFloat16;
    const devices::GpuSource source = fusedSource(launch.program, bfloat16);
    devices::Image image;
    image.name = std::string(nameOf(launch.program)) + (bfloat16 ? "/bf16" : "/f32");
    image.cubin = devices::Nvrtc::open().compiledFrom(store_, source, architecture);
    devices::Library made;
    devices::check(driver_->loadLibrary(image, &made), "loadLibrary", device, image.name);
    libraries_.emplace(key, made);
    return made;
  }

  const std::unique_ptr<devices::Driver> driver_;
  devices::ArtefactStore store_;
  std::mutex mutex_;  // held while compiling: whoever needs the same waits, and nobody needs another for long
  std::map<LibraryKey, devices::Library> libraries_;
  std::map<FunctionKey, devices::Function> functions_;
};

Programs& programs() {
  static Programs& all = keepForProcess(std::make_unique<Programs>());
  return all;
}

}  // namespace

void launchFused(at::Device device, const FusedLaunch& launch) {
  if (launch.shape.grid[0] == 0) return;
  if (device.is_cpu() && gEmulation) return gEmulation(launch);
  if (!device.is_cuda()) throwBadInput(launch.entry, "a kernel for GPUs was asked for on " + device.str());
  const c10::DeviceGuard guard(device);
  Programs& all = programs();
  devices::Driver& driver = all.driver();
  const int index = device.index();
  currentContext(driver, device, launch.entry);
  const devices::Function function = all.function(index, launch);
  const devices::Stream stream = currentStream(driver, device, launch.entry);
  devices::LaunchArguments arguments;
  arguments.params = {const_cast<void*>(launch.argument)};
  devices::check(driver.launch(function, launch.shape, stream, arguments), "launch", index, launch.entry);
}

void setFusedEmulation(FusedEmulation emulation) { gEmulation = std::move(emulation); }

}  // namespace redraft::model::gpu
