#include "tests/model/kernels/gpu/gpu_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "devices/cuda_loader.h"
#include "devices/nvrtc.h"
#include "model/cuda/torch_cuda.h"
#include "model/kernels/attention_artefact.h"
#include "model/kernels/cuda/gpu_sources.h"
#include "model/kernels/gpu_attention.h"

namespace redraft::model::testing {
namespace {

GpuMachine makeMachine() {
  GpuMachine machine;
  machine.whyNone = devices::whyNoCuda();  // before LibTorch's CUDA half, which takes a second to find the same
  if (machine.whyNone.empty()) machine.whyNone = devices::Nvrtc::whyNone();
  if (!machine.whyNone.empty()) return machine;
  try {
    loadTorchCuda();
    machine.driver = devices::loadCudaDriver({}).release();
    machine.compile =
        gpuAttentionCompiler(devices::cudaArchitecture(*machine.driver, 0),
                             std::make_shared<devices::ArtefactStore>(devices::ArtefactStore::defaultFolder()));
  } catch (const Error& error) {
    machine.whyNone = error.message();
  }
  return machine;
}

std::vector<std::string> allArtefacts() {
  std::vector<std::string> names;
  for (const MaskKind kind : {MaskKind::kCausal, MaskKind::kDraftFull, MaskKind::kDraftSliding}) {
    names.push_back(blockMaskArtefact(kind));
    for (const int dim : gpu::kHeadDims) {
      AttentionArtefact artefact;
      artefact.headDim = dim;
      artefact.kind = kind;
      artefact.bfloat16 = true;
      for (const bool backward : {false, true}) {
        artefact.backward = backward;
        names.push_back(artefact.name());
      }
    }
  }
  return names;
}

}  // namespace

const GpuMachine& gpuMachine() {
  static const GpuMachine machine = makeMachine();
  return machine;
}

void compileAll(const GpuMachine& machine) {
  const std::vector<std::string> names = allArtefacts();
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> failures;
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < names.size();) {
      try {
        machine.compile(names[i]);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        failures.push_back(names[i] + ": " + error.what());
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
}

}  // namespace redraft::model::testing
