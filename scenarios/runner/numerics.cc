#include "scenarios/runner/numerics.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/csrc/api/include/torch/version.h>

#include <cstdlib>
#include <set>

#include "base/text.h"
#include "base/unsupported.h"
#include "model/kernels/gpu_ops.h"
#include "model/kernels/ops.h"

namespace redraft::scenarios {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "unset";
}

/// The different ones among what each GPU has, with "+" between.
template <class Text>
std::string eachOf(const std::vector<GpuModel>& gpus, Text text) {
  std::set<std::string> all;
  for (const GpuModel& gpu : gpus) all.insert(text(gpu));
  return join({all.begin(), all.end()}, "+");
}

}  // namespace

void requireInstructions(const std::string& isa) {
  if (isa != "avx512" || __builtin_cpu_supports("avx512f") != 0) return;
  throw Unsupported("needs a processor with AVX-512: the scenario says \"isa\": \"avx512\"");
}

void settleNumerics(int threads) {
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicFillUninitializedMemory(true);
  at::set_num_threads(threads);
}

void settleGpuNumerics() {
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowBF16ReductionCuBLAS(/*allow_reduced_precision=*/false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

ClassFields cpuNumericsClass(const std::string& device, int threads) {
  ClassFields fields = numericsFields();
  fields["threads"] = std::to_string(threads);
  fields["device"] = device;
  return fields;
}

ClassFields gpuNumericsClass(const GpuFacts& facts) {
  return {
      {"device", "cuda"},
      {"isa", eachOf(facts.gpus, [](const GpuModel& gpu) { return "sm_" + std::to_string(gpu.architecture); })},
      {"multiprocessors", eachOf(facts.gpus, [](const GpuModel& gpu) { return std::to_string(gpu.multiprocessors); })},
      {"driver", facts.driver},
      {"runtime", facts.runtime},
      {"cublas", facts.cublas},
      {"cudnn", facts.cudnn},
      {"libtorch", TORCH_VERSION},
      {"kernels", std::to_string(model::gpu::kKernelsVersion)},
  };
}

ClassFields gpuPerformanceClass(const GpuFacts& facts) {
  return {{"gpu", eachOf(facts.gpus, [](const GpuModel& gpu) { return gpu.name; })},
          {"gpus", std::to_string(facts.gpus.size())}};
}

ClassFields numericsFields() {
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
