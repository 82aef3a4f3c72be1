#pragma once
// The "redraft::" operator library. Registered on first use, so a program that never calls these operations pays
// nothing and no linker can drop the registration. Operators here are the raw forward and backward kernels; autograd is
// in the functions of ops.h and attention.h.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <string>

#include "model/kernels/simd/gemm.h"

namespace torch {
class Library;
}

namespace redraft::model {

/// Thread-safe; the first call defines every operator.
void ensureOperatorsRegistered();

void registerLinear(torch::Library& library);
void registerNorm(torch::Library& library);
void registerActivation(torch::Library& library);
void registerRope(torch::Library& library);
void registerCrossEntropy(torch::Library& library);
void registerOptimizer(torch::Library& library);
void registerBlockMask(torch::Library& library);

/// The operator `name` ("redraft::linear"); keep the result in a function's static.
template <class Signature>
c10::TypedOperatorHandle<Signature> findOperator(const char* name) {
  ensureOperatorsRegistered();
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

/// float32 or bfloat16; anything else is Error(kBadInput) naming the operation and the argument.
simd::Element elementOf(const at::Tensor& tensor, const char* operation, const char* argument);

/// "float32 [2, 3] on cpu".
std::string describe(const at::Tensor& tensor);

/// Throws Error(kBadInput) "OPERATION: MESSAGE" unless `condition`.
void require(bool condition, const char* operation, const std::string& message);

/// Rows of `width` elements that are worth one piece of a parallel loop.
std::int64_t rowGrain(std::int64_t width);

}  // namespace redraft::model
