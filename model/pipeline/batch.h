#pragma once
// What one micro-batch is made of: its samples as padded tensors, and the blocks that it trains on. A function of the
// data, the seed and the micro-batch's place in the run. Made on the CPU, on any thread.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "model/blocks.h"
#include "model/pipeline/data.h"
#include "model/pipeline/micro_batch_plan.h"
#include "model/pipeline/sample_order.h"

namespace redraft::model {

struct BatchOptions {
  std::uint64_t seed = 0;
  std::int64_t microBatches = 1;  // a step
  std::int64_t batchSize = 1;
  std::int64_t anchors = 1;  // a sequence, at most
  std::int64_t blockSize = 2;
  std::int64_t maskTokenId = 0;
  std::optional<double> gamma;
};

struct Batch {
  at::Tensor ids;       // int64 [B, S], rows padded on the right with 0
  at::Tensor lossMask;  // bool [B, S], false in the padding
  std::vector<std::int64_t> sampleIds;
  std::int64_t tokens = 0;  // without padding
};

class BatchMaker {
 public:
  /// `samples` outlives this.
  BatchMaker(const std::vector<Sample>& samples, BatchOptions options);

  Batch batch(const MicroBatchRef& ref) const;
  BlockPlan plan(const MicroBatchRef& ref, const Batch& batch) const;

 private:
  const std::vector<Sample>& samples_;
  BatchOptions options_;
  SampleOrder order_;
};

/// Rows of equal length from samples of any.
Batch padSamples(const std::vector<const Sample*>& samples);

}  // namespace redraft::model
