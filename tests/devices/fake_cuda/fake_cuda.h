#pragma once
// A libcuda.so.1 of two devices that computes nothing: contexts, streams and what is current, as the CUDA driver API
// defines them, so that CudaDriver's bookkeeping is tested without a GPU. What it does not know is
// CUDA_ERROR_NOT_SUPPORTED.

#include <cuda.h>

namespace redraft::devices::fake {

/// What somebody else in the process does, and what the driver was asked.
struct Control {
  void (*reset)();
  void (*bindPrimary)(int device);  // on the calling thread, and makes it active
  void (*bindForeign)(int device);  // a context that is nobody's primary
  CUstream (*makeStream)(int device);
  /// Destroys `stream`, and makes one of `device` at the same address.
  void (*replaceStream)(CUstream stream, int device);
  int (*primaryRetains)(int device);
  int (*destroyedStreams)();
};

/// Exported as "redraftFakeCuda".
using GetControl = const Control* (*)();

}  // namespace redraft::devices::fake
