#pragma once
// The exchange of one drafter's gradients while its backward goes on. Hooks on the drafter's parameters take each
// gradient as autograd makes it; a bucket that has them all, of all of the drafter's micro-batches, is given to a
// thread of the exchange's own, which sums it with the other drafters' (GradientSum) on a stream of its own. What the
// step then still waits for is what is exposed. The order of buckets is fixed, and every bucket is summed by the tree
// over the global micro-batch index, so no bit depends on when anything came.

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "model/drafter.h"
#include "model/pipeline/device_stopwatch.h"
#include "model/pipeline/gradient_buckets.h"
#include "model/pipeline/gradient_sum.h"

namespace redraft::model {

struct ExchangeOptions {
  std::int64_t bucketBytes = std::int64_t{128} << 20;
  /// False: the exchange begins when backward has ended. Changes no bit.
  bool overlapped = true;
};

/// All methods but the destructor on the drafter's thread, its device and stream current.
class GradientExchange {
 public:
  /// `member`: of the sum's. `drafter` outlives this; its parameters get hooks that stay.
  GradientExchange(GradientSum& sum, RunMonitor& monitor, int member, const std::string& role, const Drafter& drafter,
                   std::int64_t leaves, const ExchangeOptions& options);
  /// Waits for its thread. The run has stopped by then if that may wait for another drafter.
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Gradients that backward makes from now on are those of this micro-batch (global index); `last` of the step.
  void beginMicroBatch(std::int64_t index, std::int64_t step, bool last);
  /// Backward of the micro-batch has been launched. A parameter without a gradient counts as zeros.
  void endMicroBatch();
  /// The sums over all micro-batches of the step, a vector a bucket; the current stream waits for them. Throws what the
  /// exchange met.
  std::vector<HandOff> finish();
  /// How long the stream waited in finish(), from the end of backward on. The caller has waited for the stream.
  double takeExposedSeconds() { return exposed_.takeSeconds(); }

  const GradientBuckets& buckets() const { return buckets_; }

 private:
  struct Filling {  // of one bucket, on autograd's thread
    at::Tensor vector;
    std::vector<bool> has;    // by parameter, of this micro-batch
    std::size_t missing = 0;  // 0: it was closed
    GradientTree tree;
  };
  struct Given {
    std::vector<GradientTree::Node> nodes;  // places; their vectors are in the hand-off
    HandOff vectors;
    std::int64_t step = 0;
  };

  void put(std::size_t parameter, const at::Tensor& gradient);
  void close(std::size_t bucket);
  void work(const std::string& role) noexcept;
  /// Until it is closed.
  void sumBuckets();
  std::optional<Given> next(std::size_t bucket);
  HandOff take(std::size_t bucket);

  GradientSum& sum_;
  RunMonitor& monitor_;
  const int member_;
  const at::Device device_;
  const std::int64_t leaves_;
  const bool overlapped_;
  const GradientBuckets buckets_;
  std::vector<Filling> filling_;
  std::int64_t index_ = 0, step_ = 0;
  bool last_ = false;
  DeviceStopwatch exposed_;

  // Under the monitor's lock.
  std::map<std::size_t, Given> given_;
  std::map<std::size_t, HandOff> summed_;
  bool released_;  // the thread may take what was given
  bool closed_ = false;
  std::exception_ptr error_;

  std::thread thread_;
};

}  // namespace redraft::model
