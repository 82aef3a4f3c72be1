#pragma once
// One call of an operation, as at::RecordFunction shows it: what is worth knowing of its schema, and its tensors.

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <functional>
#include <string>
#include <vector>

namespace redraft::scenarios {

/// Of an operation, the same for all of its calls.
struct OpFacts {
  std::string name;          // with its overload: "aten::add.Tensor"
  bool allocates = false;    // what it makes holds no value yet: aten::empty and its kin
  bool overwrites = false;   // what it writes need not have held one before: aten::copy_, aten::zero_, out=
  std::vector<bool> writes;  // by argument; shorter: the rest are only read
};

/// Only while observers are told of the call's beginning.
c10::ArrayRef<const c10::IValue> inputsOf(const at::RecordFunction& call);

/// Kept for the calling thread; worked out at the first call.
const OpFacts& factsOf(const at::RecordFunction& call);

/// Every defined tensor of a value, those of lists too.
void eachTensor(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit);

bool shareMemory(const at::Tensor& a, const at::Tensor& b);

/// Arguments that are no tensors, with commas between: "0.125, true, [1, 64]".
std::string scalarsText(c10::ArrayRef<const c10::IValue> arguments);

/// "float32 [1, 64]"
std::string typeText(at::ScalarType type, at::IntArrayRef sizes);

}  // namespace redraft::scenarios
