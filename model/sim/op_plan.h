#pragma once
// What the fallback has to know of an op's schema, worked out once an op: which arguments can hold tensors, a device or
// a generator, and which are written.

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>

#include <cstdint>

namespace redraft::model::sim {

enum class ArgumentKind : std::uint8_t { kTensor, kTensorList, kIndexList, kDevice, kGenerator, kPinMemory };

struct ArgumentPlan {
  std::uint16_t index;
  ArgumentKind kind;
  bool written;  // in-place and out= arguments
};

struct OpPlan {
  explicit OpPlan(const c10::OperatorHandle& op);

  std::uint16_t arguments;
  std::uint16_t results;
  bool cpuScalars;  // 0-dim CPU tensors may mix with sim tensors, as CUDA allows for this op
  bool writes;      // some argument is written
  bool touches;     // it reads or writes elements: it makes no view, and takes more of its arguments than their shapes
  c10::SmallVector<ArgumentPlan, 6> interesting;  // the arguments to look at, in order
};

}  // namespace redraft::model::sim
