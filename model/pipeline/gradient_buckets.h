#pragma once
// Which gradients are exchanged together, and in which order. A bucket is a float32 vector of several parameters'
// gradients, as full as its size allows; it is exchanged once all of them are there. The order is the one in which
// backward makes them, so that most of the exchange is over when backward is. It changes no bit: every element goes
// through the same additions in whichever bucket it is.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace redraft::model {

class GradientBuckets {
 public:
  /// `order`: every parameter's place in `parameters` once, the earliest first. A bucket is closed when it holds
  /// `bytes` or more.
  GradientBuckets(const std::vector<at::Tensor>& parameters, const std::vector<std::size_t>& order, std::int64_t bytes);

  std::size_t size() const { return buckets_.size(); }
  std::size_t parameters() const { return places_.size(); }
  std::size_t bucketOf(std::size_t parameter) const { return places_.at(parameter).bucket; }
  /// In the order in which they lie in the bucket.
  const std::vector<std::size_t>& members(std::size_t bucket) const { return buckets_.at(bucket).members; }
  std::int64_t elements(std::size_t bucket) const { return buckets_.at(bucket).elements; }

  /// A new vector for a bucket on the parameters' device, not filled.
  at::Tensor makeVector(std::size_t bucket) const;
  /// The part of its bucket's vector that is a parameter's gradient, in its shape.
  at::Tensor view(const at::Tensor& vector, std::size_t parameter) const;
  /// All parameters' gradients, in the order of the parameters, as views of all buckets' vectors.
  std::vector<at::Tensor> views(const std::vector<at::Tensor>& vectors) const;

 private:
  struct Bucket {
    std::vector<std::size_t> members;
    std::int64_t elements = 0;
  };
  struct Place {
    std::size_t bucket = 0;
    std::int64_t offset = 0;
    std::vector<std::int64_t> shape;
    std::int64_t elements = 0;
  };

  at::Device device_;
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;  // by parameter
};

}  // namespace redraft::model
