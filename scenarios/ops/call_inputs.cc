// RecordFunction::inputs() in a file of its own, compiled as LibTorch was: in other builds than NDEBUG's it asserts
// what only a LibTorch of such a build keeps track of.
#include <ATen/record_function.h>

#include "scenarios/ops/op_call.h"

namespace redraft::scenarios {

c10::ArrayRef<const c10::IValue> inputsOf(const at::RecordFunction& call) { return call.inputs(); }

}  // namespace redraft::scenarios
