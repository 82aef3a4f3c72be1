#pragma once
// Digests of tensors (model/kernels/cuda/tensor_digest.cuh). On the CPU and on simulated devices they are taken at
// once. On a GPU a kernel behind the operation, on the same stream, adds to a place of a table there; the table is read
// when the run is over, so that no step waits for the host.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "devices/driver.h"

namespace redraft::scenarios {

/// Its name in the driver's log.
inline constexpr const char* kDigestKernel = "tensor_digest";

/// A digest that is known, or the place where it will be.
struct DigestTicket {
  enum class State : std::uint8_t { kNotTaken, kKnown, kPending, kFailed };
  State state = State::kNotTaken;
  int device = -1;
  std::uint64_t value = 0;  // the digest, or its place in the table
};

/// Of a tensor on the CPU, or on a simulated device, whose bytes are there.
std::uint64_t digestOnHost(const at::Tensor& tensor);

/// Thread-safe. What it calls is seen by no observer and no autograd.
class TensorDigests {
 public:
  /// `driver`: of GPUs, where tensors may be on them; outlives this. Null elsewhere.
  explicit TensorDigests(devices::Driver* driver);
  ~TensorDigests();
  TensorDigests(const TensorDigests&) = delete;
  TensorDigests& operator=(const TensorDigests&) = delete;

  /// Makes table and kernel of a GPU, which waits for it. Before the first step. Throws Error(kEnvironment), and
  /// DeviceError.
  void prepare(int device, int architecture);

  /// On the calling thread's current stream of the tensor's device. kFailed: on a GPU that was not prepared, or whose
  /// table is full.
  DigestTicket take(const at::Tensor& tensor);

  /// Waits for the devices, and copies their tables. No more take() after it.
  void finish();
  /// After finish(); nullopt for what was not taken.
  std::optional<std::uint64_t> valueOf(const DigestTicket& ticket) const;

 private:
  struct Gpu;
  DigestTicket takeOnGpu(const at::Tensor& tensor);

  devices::Driver* const driver_;
  std::map<int, std::unique_ptr<Gpu>> gpus_;  // not changed after prepare()
};

}  // namespace redraft::scenarios
