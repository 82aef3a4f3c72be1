#pragma once
// One drafter's step of a training scenario on a GPU, by the code that DrafterWorker calls (model/pipeline): masks,
// forward, loss, backward with the exchange's hooks, sum of the gradients, norm, clip, AdamW. Hidden states and blocks
// lie on the GPU already, for a few micro-batches that come by turns; nothing is handed over, recorded or compared.

#include <cstdint>
#include <memory>

#include "scenarios/spec/scenario.h"

namespace redraft::bench {

class DrafterStep {
 public:
  /// On GPU 0, of the sizes of `scenario`, whose target is a table. One a process: it sets the kernel cache. Throws
  /// Error(kEnvironment) where there is no GPU.
  explicit DrafterStep(const scenarios::Scenario& scenario);
  ~DrafterStep();
  DrafterStep(const DrafterStep&) = delete;
  DrafterStep& operator=(const DrafterStep&) = delete;

  /// Waits for the device as a step does: for the loss sums, and for the norm. Returns the mean loss.
  double run(std::int64_t step);
  /// Waits for all that was launched.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace redraft::bench
