#include "model/pipeline/gradient_buckets.h"

#include <ATen/ops/empty.h>

#include "base/error.h"

namespace redraft::model {

GradientBuckets::GradientBuckets(const std::vector<at::Tensor>& parameters, const std::vector<std::size_t>& order,
                                 std::int64_t bytes)
    : device_(parameters.at(0).device()), places_(parameters.size()) {
  REDRAFT_CHECK(order.size() == parameters.size() && bytes > 0, "every parameter has a bucket, of some size");
  std::vector<bool> placed(parameters.size(), false);
  for (const std::size_t parameter : order) {
    REDRAFT_CHECK(!placed.at(parameter), "a parameter is in one bucket");
    placed[parameter] = true;
    if (buckets_.empty() || buckets_.back().elements * static_cast<std::int64_t>(sizeof(float)) >= bytes)
      buckets_.emplace_back();
    Bucket& bucket = buckets_.back();
    const at::Tensor& like = parameters[parameter];
    places_[parameter] = {buckets_.size() - 1, bucket.elements, like.sizes().vec(), like.numel()};
    bucket.members.push_back(parameter);
    bucket.elements += like.numel();
  }
}

at::Tensor GradientBuckets::makeVector(std::size_t bucket) const {
  return at::empty({elements(bucket)}, at::TensorOptions().dtype(at::kFloat).device(device_));
}

at::Tensor GradientBuckets::view(const at::Tensor& vector, std::size_t parameter) const {
  const Place& place = places_.at(parameter);
  return vector.narrow(0, place.offset, place.elements).view(place.shape);
}

std::vector<at::Tensor> GradientBuckets::views(const std::vector<at::Tensor>& vectors) const {
  REDRAFT_CHECK(vectors.size() == buckets_.size(), "a vector a bucket");
  std::vector<at::Tensor> all;
  all.reserve(places_.size());
  for (std::size_t p = 0; p < places_.size(); ++p) all.push_back(view(vectors[places_[p].bucket], p));
  return all;
}

}  // namespace redraft::model
