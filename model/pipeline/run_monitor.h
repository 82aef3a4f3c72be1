#pragma once
// The one monitor of a run: every wait between its threads goes through it, so that every wait has a time-out, and so
// that a failure anywhere ends every wait at once.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>

namespace redraft::model {

/// Thrown out of a wait because another thread failed. Never the run's own error.
class RunStopped : public std::runtime_error {
 public:
  RunStopped() : std::runtime_error("another role failed") {}
};

bool isRunStopped(const std::exception_ptr& error);

class RunMonitor {
 public:
  explicit RunMonitor(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  std::unique_lock<std::mutex> lock() { return std::unique_lock<std::mutex>(mutex_); }

  /// Waits, holding `lock` (of this monitor), until ready() holds. Throws RunStopped when the run has failed, and
  /// Error(kEnvironment) "WHO: waited N ms for WHAT" at the time-out. `what` is called only then.
  template <class Ready, class What>
  void wait(std::unique_lock<std::mutex>& lock, const std::string& who, const What& what, const Ready& ready) {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    while (true) {
      throwIfStopped(lock);
      if (ready()) return;
      if (std::chrono::steady_clock::now() >= deadline) timedOut(who, what());
      changed_.wait_until(lock, deadline);
    }
  }

  /// The same for somebody who has more to say at the end of `most` than that it came: false then.
  template <class Ready>
  bool waitUpTo(std::chrono::milliseconds most, std::unique_lock<std::mutex>& lock, const Ready& ready) {
    return settle(most, lock, [&] {
      throwIfStopped(lock);
      return ready();
    });
  }

  /// As waitUpTo(), whether the run has failed or not: for those who clean up.
  template <class Ready>
  bool settle(std::chrono::milliseconds most, std::unique_lock<std::mutex>& lock, const Ready& ready) {
    return changed_.wait_until(lock, std::chrono::steady_clock::now() + most, ready);
  }

  /// Call after a change that somebody may wait for, holding the lock or not.
  void changed() { changed_.notify_all(); }

  /// Stops the run. The first error is kept; RunStopped never is.
  void fail(std::exception_ptr error);
  bool stopped() const;
  /// Throws RunStopped when the run has failed: for loops that do not wait.
  void checkpoint() const;
  /// Null while nothing failed.
  std::exception_ptr error() const;

  std::chrono::milliseconds timeout() const { return timeout_; }

 private:
  void throwIfStopped(const std::unique_lock<std::mutex>& lock) const;
  [[noreturn]] void timedOut(const std::string& who, const std::string& what) const;

  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::exception_ptr error_;
};

}  // namespace redraft::model
