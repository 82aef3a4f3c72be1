#pragma once
// Ranks that exchange everything through the store that they meet at: slow, and everywhere to be had. For runs on
// simulated devices, and for the few bytes that NCCL is not made for.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/launch_environment.h"
#include "model/pipeline/collective.h"
#include "model/pipeline/rank_store.h"
#include "model/pipeline/run_monitor.h"

namespace redraft::model {

/// How long ranks wait for each other: less than the roles of a process do, so that the first to give up is the one
/// that knows which rank is missing.
inline std::chrono::milliseconds rankTimeout(const RunMonitor& monitor) { return monitor.timeout() * 3 / 4; }

class StoreCollective final : public Collective {
 public:
  /// Meets the other ranks; returns when all are there. Throws Error(kEnvironment) when the store is not, RankLost for
  /// a rank that does not come. rankTimeout() bounds every wait; `monitor` outlives this.
  StoreCollective(RunMonitor& monitor, const LaunchEnvironment& launch);
  /// Leaves the store. Rank 0 gives the others a little time to read why it failed.
  ~StoreCollective() override;

  int rank() const override { return launch_.rank; }
  int size() const override { return launch_.worldSize; }
  at::Tensor allGather(const at::Tensor& values, const std::string& what) override;
  std::vector<std::string> allGather(const std::string& bytes, const std::string& what) override;
  void abort(int origin, const std::string& why) noexcept override;

 private:
  class Worker;

  RunMonitor& monitor_;
  const LaunchEnvironment launch_;
  std::shared_ptr<Worker> worker_;  // its thread's too: one that hangs in the store is left behind
};

}  // namespace redraft::model
