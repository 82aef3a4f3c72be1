#pragma once
// Two runs that share a machine by turns: the harness says up to which step a run may go, and the run says when it is
// there, and waits. Between two turns no role has work to do and no device has any left. The two talk over a socket
// that the runner inherits (`redraft-runner run RUN --turns FD`); a message is a number of steps.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

namespace redraft::harness {

/// The harness's end.
class TurnGiver {
 public:
  /// Throws Error(kEnvironment).
  TurnGiver();
  ~TurnGiver();
  TurnGiver(const TurnGiver&) = delete;
  TurnGiver& operator=(const TurnGiver&) = delete;

  /// For ChildCommand::keepFd and --turns.
  int runnerFd() const { return runnerFd_; }
  /// Steps before `steps` may begin.
  void allow(std::int64_t steps);
  /// Waits until the run has done so many steps as it was allowed; false: it has not within `timeout`.
  bool reached(std::chrono::milliseconds timeout);

 private:
  int fd_ = -1, runnerFd_ = -1;
  std::int64_t allowed_ = 0;
};

/// The run's end. Thread-safe.
class TurnGate {
 public:
  /// Throws Error(kBadInput) when `fd` is no socket.
  explicit TurnGate(int fd);

  /// Waits until the step may begin. `check` is called every now and then meanwhile, and may throw.
  void enter(std::int64_t step, const std::function<void()>& check);
  /// All roles are through with the step.
  void done(std::int64_t step);

 private:
  const int fd_;
  std::mutex mutex_;  // of whoever waits for the harness
  std::atomic<std::int64_t> allowed_{0};
};

}  // namespace redraft::harness
