#pragma once
// A communicator of NCCL, as the program sees it: c10d::ProcessGroupNCCL behind the library that is opened at run time
// (torch_cuda.h). Mechanism alone; who may have which GPU, and what happens to a rank that is gone, is
// NcclCollective's.

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <string>

namespace c10d {
class Store;
}

namespace redraft::model {

/// One gather at a time. Methods throw c10::Error for what NCCL met.
class NcclGroup {
 public:
  virtual ~NcclGroup() = default;
  /// Queues the gather of every rank's `own` [n] into `all` [size · n], both on this rank's device, behind its current
  /// stream.
  virtual void begin(at::Tensor& all, at::Tensor& own) = 0;
  /// Whether it has ended, well or not; does not block.
  virtual bool done() = 0;
  /// Orders the current stream behind the gather.
  virtual void end() = 0;
  /// What the flight recorder holds, JSON.
  virtual std::string flightRecorder() = 0;
  /// Gives up what is queued.
  virtual void abort() = 0;
  /// After a last gather that ended well.
  virtual void shutdown() = 0;
};

struct NcclPlace {
  c10::intrusive_ptr<c10d::Store> store;  // that all ranks meet at, a connection of its own
  int rank = 0, size = 1;
  int device = 0;
  std::chrono::milliseconds timeout{0};  // after which torch's watchdog writes its dump and ends the process
};

/// What the library makes and says.
struct NcclLibrary {
  /// "GPU-<uuid> at <PCI place>": equal for two devices of a host exactly when they are one.
  std::string (*gpuName)(int device) = nullptr;
  /// Returns when all ranks have called it.
  NcclGroup* (*makeGroup)(const NcclPlace& place) = nullptr;
};

/// Exported by the library as "redraftNcclLibrary".
using GetNcclLibrary = NcclLibrary (*)();
inline constexpr const char* kGetNcclLibrary = "redraftNcclLibrary";

/// Opens the library; throws as loadTorchCuda() does.
NcclLibrary loadNccl();

}  // namespace redraft::model
