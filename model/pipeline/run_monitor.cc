#include "model/pipeline/run_monitor.h"

#include "base/error.h"

namespace redraft::model {

bool isRunStopped(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RunStopped&) {
    return true;
  } catch (...) {
    return false;
  }
}

void RunMonitor::fail(std::exception_ptr error) {
  const bool own = error != nullptr && !isRunStopped(error);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    stopped_ = true;
    if (own && error_ == nullptr) error_ = std::move(error);
  }
  changed_.notify_all();
}

bool RunMonitor::stopped() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return stopped_;
}

void RunMonitor::checkpoint() const {
  if (stopped()) throw RunStopped();
}

std::exception_ptr RunMonitor::error() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return error_;
}

void RunMonitor::throwIfStopped(const std::unique_lock<std::mutex>& lock) const {
  REDRAFT_CHECK(lock.owns_lock() && lock.mutex() == &mutex_, "the wait holds the monitor's own lock");
  if (stopped_) throw RunStopped();
}

void RunMonitor::timedOut(const std::string& who, const std::string& what) const {
  throw Error(
      ErrorKind::kEnvironment, who, "waited " + std::to_string(timeout_.count()) + " ms for " + what,
      "look at the last sync point of the role that it waits for; limits.seconds of the scenario bounds the whole run");
}

}  // namespace redraft::model
