#include "model/pipeline/store_collective.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "base/log.h"

namespace redraft::model {

namespace {

constexpr std::chrono::milliseconds kSlack{1500};   // for leaving, over what the others are given
constexpr std::chrono::milliseconds kLinger{3000};  // of a failed rank 0, for those that still read why

/// The same error, thrown by the thread whose role it is: where an error was thrown says whose it is.
[[noreturn]] void throwHere(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RankLost& lost) {
    throw RankLost(lost);  // NOLINT(misc-throw-by-value-catch-by-reference): a new throw, not the old one again
  }
}

std::string prefixOf(const LaunchEnvironment& launch) { return "redraft/" + std::to_string(launch.attempt) + "/"; }

}  // namespace

/// The thread that uses the store, and what it is asked to do, one thing at a time.
class StoreCollective::Worker {
 public:
  Worker(RunMonitor& monitor, const LaunchEnvironment& launch, const c10::intrusive_ptr<c10d::Store>& store)
      : monitor_(&monitor),
        rounds_(launch, store, prefixOf(launch), rankTimeout(monitor)),
        failing_(launch, store->clone(), prefixOf(launch), rankTimeout(monitor)) {}

  struct Task {
    std::function<std::vector<std::string>(RankRounds&)> body;
    std::vector<std::string> result;
    std::exception_ptr error;
    bool done = false;  // under the monitor's lock
  };

  /// On the worker's own thread, until stop().
  void work() {
    while (const std::shared_ptr<Task> task = next()) {
      try {
        task->result = task->body(rounds_);
      } catch (...) {
        task->error = std::current_exception();
      }
      finish(*task);
    }
  }

  std::shared_ptr<Task> exchange(const std::string& bytes, const std::string& what) {
    const std::lock_guard guard(mutex_);
    if (aborted_) throw RunStopped();
    const std::int64_t round = nextRound_++;
    return give([this, round, bytes, what](RankRounds& rounds) {
      return rounds.exchange(round, bytes, what, [this] { return stopped_.load(); });
    });
  }

  std::shared_ptr<Task> leave(std::chrono::milliseconds linger) {
    const std::lock_guard guard(mutex_);
    return give([linger](RankRounds& rounds) {
      rounds.leave(linger);
      return std::vector<std::string>();
    });
  }

  bool aborted() {
    const std::lock_guard guard(mutex_);
    return aborted_;
  }

  /// No round begins behind this one's mark.
  void abort(int origin, const std::string& why) {
    const std::lock_guard guard(mutex_);
    if (std::exchange(aborted_, true)) return;
    failing_.fail(nextRound_, origin, why);
  }

  /// What waits for a peer gives up.
  void giveUp() { stopped_ = true; }

  /// Ends the thread when it has done what it was asked; the monitor is not used any more.
  void stop() {
    const std::lock_guard guard(mutex_);
    monitor_ = nullptr;
    stopping_ = true;
    asked_.notify_all();
  }

 private:
  std::shared_ptr<Task> give(std::function<std::vector<std::string>(RankRounds&)> body) {
    tasks_.push_back(std::make_shared<Task>());
    tasks_.back()->body = std::move(body);
    asked_.notify_all();
    return tasks_.back();
  }

  std::shared_ptr<Task> next() {
    std::unique_lock lock(mutex_);
    asked_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return nullptr;
    std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  void finish(Task& task) {
    const std::lock_guard guard(mutex_);
    if (monitor_ == nullptr) return;
    const auto lock = monitor_->lock();
    task.done = true;
    monitor_->changed();
  }

  std::mutex mutex_;  // before the monitor's own
  std::condition_variable asked_;
  std::deque<std::shared_ptr<Task>> tasks_;
  RunMonitor* monitor_;
  std::int64_t nextRound_ = 0;
  bool aborted_ = false, stopping_ = false;
  std::atomic<bool> stopped_{false};
  RankRounds rounds_;   // the thread's
  RankRounds failing_;  // under mutex_
};

StoreCollective::StoreCollective(RunMonitor& monitor, const LaunchEnvironment& launch)
    : monitor_(monitor), launch_(launch) {
  worker_ = std::make_shared<Worker>(monitor, launch, openStore(launch, monitor.timeout()));
  std::thread([worker = worker_] { worker->work(); }).detach();
  try {
    barrier("the start");
  } catch (...) {
    worker_->giveUp();
    worker_->stop();
    throw;
  }
}

StoreCollective::~StoreCollective() {
  worker_->giveUp();
  // After a good end the others come for what this rank gave last, however slow they are.
  const std::chrono::milliseconds linger = worker_->aborted() ? kLinger : std::max(kLinger, monitor_.timeout());
  try {
    const auto leaving = worker_->leave(linger);
    std::unique_lock lock = monitor_.lock();
    monitor_.settle(linger + kSlack, lock, [&] { return leaving->done; });
    lock.unlock();
    if (leaving->done && leaving->error) std::rethrow_exception(leaving->error);
  } catch (const std::exception& error) {
    log(LogLevel::kInfo, std::string("left without a word: ") + error.what());
  }
  worker_->stop();
}

std::vector<std::string> StoreCollective::allGather(const std::string& bytes, const std::string& what) {
  const auto task = worker_->exchange(bytes, what);
  std::unique_lock lock = monitor_.lock();
  // The worker gives up before that, unless the store does not answer it.
  const bool done = monitor_.waitUpTo(monitor_.timeout() * 7 / 8, lock, [&] { return task->done; });
  lock.unlock();
  if (!done) {
    const bool byRank = !launch_.agentServesStore;
    throw RankLost(byRank ? 0 : -1, "rank " + std::to_string(launch_.rank),
                   "waited for " + what + ", and the store gives no answer" +
                       (byRank ? ": rank 0, which serves it, stands still" : ""));
  }
  if (task->error) throwHere(task->error);
  if (task->result.empty()) throw RunStopped();  // it gave up
  return std::move(task->result);
}

at::Tensor StoreCollective::allGather(const at::Tensor& values, const std::string& what) {
  REDRAFT_CHECK(values.scalar_type() == at::kFloat && values.dim() == 1 && values.is_contiguous(),
                "float32 vectors are gathered");
  const at::Tensor own = values.to(at::kCPU);
  const std::size_t bytes = own.nbytes();
  const std::vector<std::string> all =
      allGather(std::string(static_cast<const char*>(own.const_data_ptr()), bytes), what);
  at::Tensor gathered = at::empty({size(), own.numel()}, own.options());
  auto* to = static_cast<char*>(gathered.mutable_data_ptr());
  for (const std::string& each : all) {
    REDRAFT_CHECK(each.size() == bytes, "ranks gather vectors of one size");
    std::memcpy(to, each.data(), bytes);
    to += bytes;
  }
  return gathered.to(values.device());
}

void StoreCollective::abort(int origin, const std::string& why) noexcept {
  try {
    worker_->abort(origin, why);
  } catch (const std::exception& error) {
    log(LogLevel::kInfo, std::string("the other ranks could not be told: ") + error.what());
  }
  worker_->giveUp();
}

}  // namespace redraft::model
