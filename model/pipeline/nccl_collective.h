#pragma once
// Ranks that exchange gradients through NCCL, a GPU each. What is no gradient goes through the store, and so does a
// barrier before every gather: NCCL is asked only when all ranks are known to have come, so that a rank that is gone is
// noticed, and named, where a wait can end. A barrier costs a few round trips to the store, where a kernel that waits
// in vain would cost the context.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/cuda/nccl_group.h"
#include "model/pipeline/collective.h"
#include "model/pipeline/run_monitor.h"

namespace redraft::model {

struct NcclOptions {
  int device = 0;                         // CUDA's number, of this process's first drafter
  c10::intrusive_ptr<c10d::Store> store;  // a connection of its own
  std::string host;                       // that the GPU is in
  std::string folder;                     // where the flight recorder is written to when a gather fails
};

class NcclCollective final : public Collective {
 public:
  /// Called by all ranks at the same time. Throws Error(kEnvironment) when two of them have one GPU, before NCCL is
  /// asked. `control`: over the store. `monitor` bounds every wait, and outlives this.
  NcclCollective(RunMonitor& monitor, std::unique_ptr<Collective> control, const NcclLibrary& nccl,
                 const NcclOptions& options);
  ~NcclCollective() override;

  int rank() const override { return control_->rank(); }
  int size() const override { return control_->size(); }
  at::Tensor allGather(const at::Tensor& values, const std::string& what) override;
  std::vector<std::string> allGather(const std::string& bytes, const std::string& what) override;
  void abort(int origin, const std::string& why) noexcept override;

 private:
  /// Queues the gather, and declares it (Instrument::declarations).
  void begin(at::Tensor& all, at::Tensor& own, const std::string& what);
  void waitFor(const std::string& what) const;
  /// Leaves the flight recorder in the run folder, and gives up what NCCL was asked for.
  void giveUp() noexcept;

  RunMonitor& monitor_;
  const std::unique_ptr<Collective> control_;
  const NcclOptions options_;
  std::unique_ptr<NcclGroup> group_;
  bool failed_ = false;
};

/// Throws Error(kEnvironment), naming two ranks and the remedy, when two of what the ranks' GPUs are called are equal.
void checkGpusDiffer(const std::vector<std::string>& gpuOfRank);

/// Sets what NCCL and its flight recorder read of the environment, where it is not set: dumps of torch's watchdog go to
/// `folder`. Before any thread is started.
void setNcclEnvironment(const std::string& folder);

inline constexpr const char* kFlightRecorderFile = "nccl_flight_recorder.json";

}  // namespace redraft::model
