#include "model/cuda/torch_cuda.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <dlfcn.h>
#include <torch/csrc/cuda/nccl.h>

#include <exception>
#include <memory>

#include "model/cuda/gpu_uuid.h"

namespace redraft::model {
namespace {

std::string dotted(std::int64_t major, std::int64_t minor) {
  return std::to_string(major) + '.' + std::to_string(minor);
}

/// A function of a library that LibTorch has loaded and that is not linked here.
template <class Function>
Function entryOf(const char* library, const char* name) {
  void* const loaded = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  void* const entry = loaded != nullptr ? ::dlsym(loaded, name) : nullptr;
  TORCH_CHECK(entry != nullptr, library, " is loaded and does not export ", name);
  return reinterpret_cast<Function>(entry);
}

std::string driverVersion() {
  const auto ask = entryOf<cudaError_t (*)(int*)>("libcudart.so.13", "cudaDriverGetVersion");
  int version = 0;
  const cudaError_t answer = ask(&version);
  TORCH_CHECK(answer == cudaSuccess, "cudaDriverGetVersion failed with ", static_cast<int>(answer));
  return dotted(version / 1000, version % 1000 / 10);
}

std::string cublasVersion() {
  const auto version = entryOf<std::size_t (*)()>("libcublasLt.so.13", "cublasLtGetVersion");
  const auto number = static_cast<std::int64_t>(version());  // major, minor and patch: 130100 is 13.1.0
  return dotted(number / 10000, number % 10000 / 100) + '.' + std::to_string(number % 100);
}

class LinkedTorchCuda final : public TorchCuda {
 public:
  TorchCudaAbout about() const override {
    TorchCudaAbout about;
    about.runtime = dotted(CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    about.driver = driverVersion();
    about.cublas = cublasVersion();
    const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
    about.cudnn = dotted(cudnn / 10000, cudnn % 10000 / 100);
    const std::uint64_t nccl = torch::cuda::nccl::version();  // major, minor and patch in 32, 16 and 16 bits
    about.nccl = dotted(static_cast<std::int64_t>(nccl >> 32), static_cast<std::int64_t>(nccl >> 16 & 0xffff));
    for (c10::DeviceIndex i = 0; i < c10::cuda::device_count(); ++i) {
      const cudaDeviceProp& found = *at::cuda::getDeviceProperties(i);
      about.devices.push_back({found.name, gpuUuid(found), 10 * found.major + found.minor, found.multiProcessorCount,
                               static_cast<std::int64_t>(found.totalGlobalMem)});
    }
    return about;
  }
  std::int64_t externalStream(void* stream, int device) const override {
    return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), static_cast<c10::DeviceIndex>(device))
        .id();
  }
};

}  // namespace
}  // namespace redraft::model

extern "C" __attribute__((visibility("default"))) redraft::model::TorchCuda* redraftMakeTorchCuda(std::string& error) {
  try {
    if (c10::cuda::device_count_ensure_non_zero() > 0)
      return std::make_unique<redraft::model::LinkedTorchCuda>().release();
    error = "it finds no GPU";
  } catch (const std::exception& refused) {
    const std::string text = refused.what();
    error = text.substr(0, text.find('\n'));  // without LibTorch's stack
  }
  return nullptr;
}
