#include "model/kernels/registry.h"

#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/keep.h"
#include "model/kernels/gpu_ops.h"

namespace redraft::model {
namespace {

void requireProcessor() {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  throw Error(ErrorKind::kEnvironment, "processor", "it lacks AVX2 or FMA, which the pinned operations are written in",
              "run on an x86-64 processor of 2013 or later");
}

}  // namespace

void ensureOperatorsRegistered() {
  [[maybe_unused]] static const bool registered = [] {
    requireProcessor();
    torch::Library& library = keepForProcess(
        std::make_unique<torch::Library>(torch::Library::DEF, "redraft", std::nullopt, __FILE__, __LINE__));
    registerLinear(library);
    registerNorm(library);
    registerActivation(library);
    registerRope(library);
    registerCrossEntropy(library);
    registerOptimizer(library);
    registerBlockMask(library);
    gpu::registerOps(library);
    return true;
  }();
}

simd::Element elementOf(const at::Tensor& tensor, const char* operation, const char* argument) {
  if (tensor.scalar_type() == at::kFloat) return simd::Element::kFloat;
  require(tensor.scalar_type() == at::kBFloat16, operation,
          std::string(argument) + " is " + describe(tensor) + "; float32 and bfloat16 are supported");
  return simd::Element::kBFloat;
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  std::ostringstream text;
  switch (tensor.scalar_type()) {
    case at::kFloat:
      text << "float32";
      break;
    case at::kBFloat16:
      text << "bfloat16";
      break;
    case at::kDouble:
      text << "float64";
      break;
    case at::kLong:
      text << "int64";
      break;
    case at::kInt:
      text << "int32";
      break;
    case at::kBool:
      text << "bool";
      break;
    default:
      text << tensor.scalar_type();
  }
  text << ' ' << tensor.sizes() << " on " << tensor.device();
  return text.str();
}

void require(bool condition, const char* operation, const std::string& message) {
  if (!condition) throwBadInput(operation, message);
}

std::int64_t rowGrain(std::int64_t width) {
  constexpr std::int64_t kElementsAPiece = 32768;
  return std::max<std::int64_t>(1, kElementsAPiece / std::max<std::int64_t>(width, 1));
}

}  // namespace redraft::model
