#pragma once
// The seams of the training stack and of the driver, turned into events: the one writer of events.jsonl. Every call is
// recorded before the fault is asked, so that the last mark of a role that never comes back is there.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "devices/driver_log.h"
#include "devices/kernel_cache.h"
#include "devices/sim/sim_driver.h"
#include "harness/events.h"
#include "harness/turns.h"
#include "model/instrument.h"
#include "model/pipeline/pipeline.h"
#include "model/pipeline/run_monitor.h"
#include "scenarios/faults/fault.h"
#include "scenarios/ops/op_recorder.h"

namespace redraft::scenarios {

class RunEvents : public model::Instrument, public model::PipelineObserver {
 public:
  /// `fault` and `driver` outlive this; `driver` is told of the orders between the run's threads, and null where the
  /// devices are not simulated.
  RunEvents(const std::string& path, Fault& fault, devices::SimDriver* driver);

  /// Which of several processes this one is, and the roles that it has.
  struct Rank {
    int rank = 0, processes = 1, firstDrafter = 0;
    std::vector<std::string> roles;  // empty: all
  };
  /// Before begin().
  void setRank(Rank rank);
  /// `traced`: the run leaves a trace when it ends by itself.
  void begin(const Scenario& scenario, const std::string& token, const devices::Placement& placement, bool traced);
  /// Throws, and writes nothing, when an earlier event could not be recorded (harness::EventWriter), why a role failed
  /// say: the record would have no reason.
  void end(bool completed, std::int64_t steps);
  /// Steps that a drafter of this process has finished its part of, since the run began.
  std::int64_t steps() const { return steps_; }
  /// An error on a thread that no role owns.
  void exception(const std::exception_ptr& error);

  /// Called when the first drafter of this process has done a step, on its thread.
  void setStepHook(std::function<void(std::int64_t step)> hook) { stepHook_ = std::move(hook); }

  /// Where hand-offs are declared; outlives the run's threads. Null: nowhere.
  void setDeclarations(devices::Declarations* declarations) { declarations_ = declarations; }

  /// Whoever says when a step may begin; both outlive the run's threads.
  void setTurns(harness::TurnGate* turns, const model::RunMonitor* monitor) {
    turns_ = turns;
    monitor_ = monitor;
  }

  /// Told of replicas and of the beginning of steps; outlives the run's threads. Null: nobody records operations.
  void setOpRecorder(OpRecorder* recorder) { opRecorder_ = recorder; }

  /// Sinks of the driver's log and of the kernel cache.
  void driverCall(const devices::LogRecord& record);
  void cacheEvent(devices::CacheEvent event, const devices::CacheRequest& request);

  // model::Instrument
  void syncPoint(model::SyncPoint point, std::int64_t object) override;
  void publish(devices::HostMark& mark) override;
  void observe(const devices::HostMark& mark) override;
  devices::Declarations* declarations() override { return declarations_; }
  bool waitsForHandOff() const override;
  std::optional<int> kernelCallSiteDevice(int tensorDevice) const override;
  int blockMaskDevice(int tensorDevice) const override;
  int recomputeDevice(int forwardDevice) const override;

  // model::PipelineObserver
  void roleBegan(const std::string& role, at::Device device) override;
  void targetEnters(std::int64_t step) override;
  void roleEnded(const std::string& role, at::Device device) override;
  void roleFailed(const std::string& role, const std::exception_ptr& error) noexcept override;
  void replicaReady(int drafter, const model::Drafter& replica) override;
  void drafterStepped(int drafter, std::int64_t step, double loss) override;
  void replicasCompared(std::int64_t step, bool equal, const std::map<std::string, std::string>& hashes) override;
  void stepDone(const model::StepMetrics& metrics) override;

 private:
  void write(harness::EventBody body);

  harness::EventWriter writer_;
  Fault& fault_;
  Rank rank_;
  std::atomic<std::int64_t> steps_{0};
  devices::SimDriver* const driver_;
  devices::Declarations* declarations_ = nullptr;
  OpRecorder* opRecorder_ = nullptr;
  harness::TurnGate* turns_ = nullptr;  // null: every step may begin
  const model::RunMonitor* monitor_ = nullptr;
  std::function<void(std::int64_t)> stepHook_;
};

}  // namespace redraft::scenarios
