#include "scenarios/runner/numerics.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/csrc/api/include/torch/version.h>

#include <cstdlib>

#include "model/kernels/ops.h"

namespace redraft::scenarios {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "unset";
}

}  // namespace

void settleNumerics(int threads) {
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicFillUninitializedMemory(true);
  at::set_num_threads(threads);
}

std::map<std::string, std::string> numericsFields() {
  return {
      {"isa", at::get_cpu_capability()},
      {"libtorch", TORCH_VERSION},
      {"mkl", variable("MKL_CBWR")},
      {"onednn", variable("ONEDNN_MAX_CPU_ISA")},
      {"kernels", std::to_string(model::kKernelsVersion)},
      {"device", "sim"},
  };
}

}  // namespace redraft::scenarios
