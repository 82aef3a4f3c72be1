#include "model/pipeline/batch.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace redraft::model {

Batch padSamples(const std::vector<const Sample*>& samples) {
  std::size_t width = 0;
  for (const Sample* sample : samples) width = std::max(width, sample->tokens.size());
  Batch batch;
  const auto rows = static_cast<std::int64_t>(samples.size());
  const auto columns = static_cast<std::int64_t>(width);
  batch.ids = at::zeros({rows, columns}, at::kLong);
  batch.lossMask = at::zeros({rows, columns}, at::kBool);
  auto* ids = batch.ids.mutable_data_ptr<std::int64_t>();
  auto* mask = batch.lossMask.mutable_data_ptr<bool>();
  for (const Sample* sample : samples) {
    std::copy(sample->tokens.begin(), sample->tokens.end(), ids);
    std::transform(sample->supervised.begin(), sample->supervised.end(), mask, [](std::uint8_t m) { return m != 0; });
    ids += columns;
    mask += columns;
    batch.sampleIds.push_back(sample->id);
    batch.tokens += static_cast<std::int64_t>(sample->tokens.size());
  }
  return batch;
}

BatchMaker::BatchMaker(const std::vector<Sample>& samples, BatchOptions options)
    : samples_(samples), options_(options), order_(options.seed, static_cast<std::int64_t>(samples.size())) {
  REDRAFT_CHECK(options.batchSize > 0 && options.microBatches > 0, "a micro-batch has samples");
}

Batch BatchMaker::batch(const MicroBatchRef& ref) const {
  std::vector<const Sample*> rows;
  const std::int64_t first = (ref.step * options_.microBatches + ref.index) * options_.batchSize;
  for (std::int64_t row = 0; row < options_.batchSize; ++row) {
    rows.push_back(&samples_[static_cast<std::size_t>(order_.at(first + row))]);
  }
  return padSamples(rows);
}

BlockPlan BatchMaker::plan(const MicroBatchRef& ref, const Batch& batch) const {
  const Anchors anchors = drawAnchors(batch.lossMask, options_.anchors, options_.seed, ref.step, batch.sampleIds);
  return planBlocks(batch.ids, batch.lossMask, anchors, options_.blockSize, options_.maskTokenId, options_.gamma);
}

}  // namespace redraft::model
