#include <dlfcn.h>

#include <memory>

#include "base/error.h"
#include "devices/cuda_loader.h"
#include "model/cuda/torch_cuda.h"

namespace redraft::model {
namespace {

std::unique_ptr<TorchCuda> open() {
  void* const library = devices::openRuntimeLibrary(
      kTorchCudaLibrary,
      "run tools/setup --gpu, which brings what LibTorch's CUDA half loads beside a CUDA 13 toolkit");
  const auto make = reinterpret_cast<MakeTorchCuda>(::dlsym(library, kMakeTorchCuda));
  if (make == nullptr) {
    throw Error(ErrorKind::kEnvironment, kTorchCudaLibrary, std::string("it does not export ") + kMakeTorchCuda,
                "rebuild it with this program");
  }
  std::string error;
  std::unique_ptr<TorchCuda> made(make(error));
  if (!made) {
    throw Error(ErrorKind::kEnvironment, "LibTorch's CUDA half", error,
                "run on a machine with an NVIDIA GPU and a driver for CUDA 13, or on \"backend\": \"sim\"");
  }
  return made;
}

}  // namespace

TorchCuda& loadTorchCuda() {
  static const std::unique_ptr<TorchCuda> torch = open();
  return *torch;
}

}  // namespace redraft::model
