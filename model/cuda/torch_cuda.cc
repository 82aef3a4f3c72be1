#include "model/cuda/torch_cuda.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/cuda/nccl.h>

#include <exception>
#include <memory>

namespace redraft::model {
namespace {

std::string dotted(std::int64_t major, std::int64_t minor) {
  return std::to_string(major) + '.' + std::to_string(minor);
}

class LinkedTorchCuda final : public TorchCuda {
 public:
  TorchCudaAbout about() const override {
    TorchCudaAbout about;
    about.runtime = dotted(CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
    about.cudnn = dotted(cudnn / 10000, cudnn % 10000 / 100);
    const std::uint64_t nccl = torch::cuda::nccl::version();  // major, minor and patch in 32, 16 and 16 bits
    about.nccl = dotted(static_cast<std::int64_t>(nccl >> 32), static_cast<std::int64_t>(nccl >> 16 & 0xffff));
    for (c10::DeviceIndex i = 0; i < c10::cuda::device_count(); ++i) {
      const cudaDeviceProp& found = *at::cuda::getDeviceProperties(i);
      about.devices.push_back({found.name, 10 * found.major + found.minor, found.multiProcessorCount,
                               static_cast<std::int64_t>(found.totalGlobalMem)});
    }
    return about;
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
