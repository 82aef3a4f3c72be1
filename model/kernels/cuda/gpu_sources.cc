#include "model/kernels/cuda/gpu_sources.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "model/kernels/cuda/attention_backward.cuh"
#include "model/kernels/cuda/attention_forward.cuh"
#include "model/kernels/cuda/block_mask.cuh"
#include "model/kernels/cuda/embedded.h"

namespace redraft::model::gpu {
namespace {

/// NVRTC has no standard library; these are all that the sources take of it.
constexpr const char* kCstdint = R"(#pragma once
namespace std {
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
}  // namespace std
)";

const char* fileOf(Program program) {
  switch (program) {
    case Program::kAttentionForward:
      return "model/kernels/cuda/attention_forward.cu";
    case Program::kAttentionBackward:
      return "model/kernels/cuda/attention_backward.cu";
    case Program::kBlockMask:
      return "model/kernels/cuda/block_mask.cu";
  }
  REDRAFT_CHECK(false, "unknown program");
}

const char* nameOf(MaskRule rule) {
  switch (rule) {
    case MaskRule::kCausal:
      return "kCausal";
    case MaskRule::kDraftFull:
      return "kDraftFull";
    case MaskRule::kDraftSliding:
      return "kDraftSliding";
  }
  REDRAFT_CHECK(false, "unknown mask rule");
}

devices::GpuSource sourceOf(const char* name) {
  devices::GpuSource source;
  source.name = name;
  source.headers = {{"cstdint", kCstdint}};
  for (const Embedded& file : embeddedFiles()) {
    if (source.name == file.name)
      source.text = file.text;
    else
      source.headers.emplace_back(file.name, file.text);
  }
  source.options = {"--std=c++20", "--device-as-default-execution-space", "--ptxas-options=-v"};
  return source;
}

devices::LaunchShape launchShape(std::int64_t x, std::int64_t y, std::int64_t z, unsigned shared) {
  return {{static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)}, {kThreads, 1, 1}, shared};
}

}  // namespace

devices::GpuSource gpuSource(Program program, int headDim, MaskRule rule) {
  REDRAFT_CHECK(program == Program::kBlockMask ||
                    std::find(std::begin(kHeadDims), std::end(kHeadDims), headDim) != std::end(kHeadDims),
                "no attention for this head dim");
  devices::GpuSource source = sourceOf(fileOf(program));
  source.options.push_back(std::string("-DREDRAFT_MASK_RULE=") + nameOf(rule));
  if (program != Program::kBlockMask) source.options.push_back("-DREDRAFT_HEAD_DIM=" + std::to_string(headDim));
  return source;
}

devices::GpuSource fusedSource(FusedProgram program, bool bfloat16) {
  devices::GpuSource source =
      sourceOf(program == FusedProgram::kRowOps ? "model/kernels/cuda/row_ops.cu" : "model/kernels/cuda/optimizer.cu");
  source.options.push_back(std::string("-DREDRAFT_ELEMENT=") + (bfloat16 ? "BFloat16" : "Float32"));
  return source;
}

devices::GpuSource tensorDigestSource() { return sourceOf("model/kernels/cuda/tensor_digest.cu"); }

std::vector<Launch> launches(Program program, const AttentionShape& s) {
  const std::int64_t queryTiles = tileCount(s.queries, kTile), keyTiles = tileCount(s.keys, kTile);
  const int dim = static_cast<int>(s.headDim);
  switch (program) {
    case Program::kAttentionForward:
      return {{"attention_forward", launchShape(queryTiles, s.heads, s.batch, forwardShared(dim))}};
    case Program::kAttentionBackward:
      return {
          {"attention_backward_queries", launchShape(queryTiles, s.heads, s.batch, backwardQueriesShared(dim))},
          {"attention_backward_keys", launchShape(keyTiles, s.keyHeads, s.batch, backwardKeysShared(dim))},
      };
    case Program::kBlockMask:
      return {{"block_mask_count", launchShape(s.batch * queryTiles, 1, 1, kMaskShared)},
              {"block_mask_fill", launchShape(s.batch * queryTiles, 1, 1, kMaskShared)}};
  }
  REDRAFT_CHECK(false, "unknown program");
}

}  // namespace redraft::model::gpu
