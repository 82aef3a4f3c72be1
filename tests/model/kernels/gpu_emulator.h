#pragma once
// Runs the GPU kernels' own source (model/kernels/cuda/*.cuh) on the CPU, without a GPU: a block's threads are fibers,
// and the operations of warp_ops.cuh are what the PTX ISA says of them, fragments' layouts included. Arithmetic is
// float32; only the approximate functions and the order of sums inside a tensor core's product differ from a GPU's.
//
// It finds what a GPU would hide: shared memory begins as NaN; an asynchronous copy arrives at its wait and not before;
// addresses are checked for alignment; a warp operation or a barrier that not all threads reach ends the program. Run a
// kernel with threads in both orders: a missing barrier gives other numbers in one of them, but for one that keeps an
// asynchronous copy from overwriting what is still read, because here no copy arrives early.

#include <functional>

#include "devices/driver.h"

namespace redraft::model::testing {

enum class ThreadOrder { kAscending, kDescending };

/// All blocks of the launch, one after the other. `kernel` runs on every thread.
void emulateLaunch(const devices::LaunchShape& shape, ThreadOrder order, const std::function<void()>& kernel);

}  // namespace redraft::model::testing
