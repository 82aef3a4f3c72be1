#pragma once
// LibTorch's CUDA half, as the program sees it. It is in a library of its own (libredraft_cuda_torch.so) that is opened
// at run time, so that a run on simulated devices pays neither its second of start-up nor its 470 MB, and so that the
// programs are the same with and without a CUDA toolkit.

#include <cstdint>
#include <string>
#include <vector>

namespace redraft::model {

struct GpuDevice {
  std::string name, uuid;
  int architecture = 0;  // 10 · major + minor of the compute capability
  int multiprocessors = 0;
  std::int64_t bytes = 0;
};

struct TorchCudaAbout {
  std::string driver, runtime, cublas, cudnn, nccl;  // versions, "13.0"; driver: the newest CUDA that it runs
  std::vector<GpuDevice> devices;
};

class TorchCuda {
 public:
  virtual ~TorchCuda() = default;
  virtual TorchCudaAbout about() const = 0;
  /// The number (c10::StreamId) by which LibTorch knows a stream of somebody else's, a CUstream.
  virtual std::int64_t externalStream(void* stream, int device) const = 0;
};

/// Exported by the library as "redraftMakeTorchCuda". Null, with a reason in `error`, when LibTorch can use no GPU
/// here.
using MakeTorchCuda = TorchCuda* (*)(std::string& error);
inline constexpr const char* kTorchCudaLibrary = "libredraft_cuda_torch.so";
inline constexpr const char* kMakeTorchCuda = "redraftMakeTorchCuda";

/// Opens the library, once a process. Throws Error(kEnvironment) with the remedy: this build has none, a library that
/// it loads is missing, or the machine has no driver or no GPU.
TorchCuda& loadTorchCuda();

}  // namespace redraft::model
