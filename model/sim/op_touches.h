#pragma once
// What an op reads and writes, for the driver's race check: it sees launches and copies by itself, ops only so.

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "devices/driver.h"

namespace redraft::model::sim {

/// True when ops are to be reported: the backend was registered so, and the driver looks for races.
bool reportsOps();

/// The touches of one op. A view is taken for all from its first to its last element, so that two views that interleave
/// count as overlapping.
class OpTouches {
 public:
  /// `name` lives as long as the process: an op's argument, "result".
  void add(const at::Tensor& sim, const char* name, bool written);
  /// As work on the device's current stream. `device` is current; `op` is the op's name.
  void report(const char* op, int device);

 private:
  c10::SmallVector<devices::MemoryTouch, 8> touches_;
};

}  // namespace redraft::model::sim
