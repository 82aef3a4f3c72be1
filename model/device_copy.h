#pragma once
// Copies between the host and devices, and between devices. The simulated devices and the CPU take LibTorch's own way;
// GPUs differ in two points: what comes from the host goes through pinned memory, so that the role's thread does not
// wait for its stream, and between two GPUs a copy is staged through the host where peer access is to stay off,
// because LibTorch turns it on for the process at its first direct copy.

#include <ATen/core/Tensor.h>

namespace redraft::model {

/// Whether copies between two GPUs are staged. Set before the workers start; default false.
void setStagedCopies(bool staged);
bool stagedCopies();

/// `tensor` on `device`; itself where it is there already. A staged copy waits for the current stream of the tensor's
/// device, on which the caller has put whatever must come first.
at::Tensor copyTo(const at::Tensor& tensor, at::Device device);
/// The same into memory that is there.
void copyInto(const at::Tensor& destination, const at::Tensor& source);

/// A host tensor on `device`, behind what is on its current stream.
at::Tensor upload(const at::Tensor& host, at::Device device);

/// Gives the calling thread a stream of its own on `source`, once, for its copies from there: LibTorch copies between
/// two devices on the source's current stream, which for threads that work on other devices is one for all. `source`
/// has its context already.
void ownCopyStream(at::Device source);

/// What the current stream of `user` gets from now on comes after what the current stream of `device` has got so far.
void orderAfter(at::Device device, at::Device user);

}  // namespace redraft::model
