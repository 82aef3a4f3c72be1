#include "devices/driver_log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <mutex>
#include <utility>

namespace redraft::devices {
namespace {

std::uint64_t threadId() {
  thread_local const auto id = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  return id;
}

/// Counters per kind, on several cache lines so that threads do not share one.
class StripedCounters {
 public:
  void add(CallKind kind) {
    thread_local const std::size_t stripe = next_.fetch_add(1, std::memory_order_relaxed) % kStripes;
    stripes_[stripe].counts[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  }

  std::uint64_t sum(CallKind kind) const {
    std::uint64_t total = 0;
    for (const Stripe& stripe : stripes_) {
      total += stripe.counts[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
    }
    return total;
  }

 private:
  static constexpr std::size_t kStripes = 16;
  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, kCallKinds> counts{};
  };
  static inline std::atomic<std::size_t> next_{0};
  std::array<Stripe, kStripes> stripes_{};
};

class BoundedLog final : public DriverLog {
 public:
  explicit BoundedLog(std::size_t capacity) : capacity_(capacity) {}

  void skip(CallKind kind) override { counters_.add(kind); }
  std::uint64_t count(CallKind kind) const override { return counters_.sum(kind); }

  void add(LogRecord record) override {
    counters_.add(record.kind);
    if (record.status == Status::kSuccess && !wants(record.kind)) return;
    std::shared_ptr<const LogSink> sink;
    {
      const std::lock_guard lock(mutex_);
      record.sequence = ++sequence_;
      sink = sink_;
      if (!sink) {
        keep(std::move(record));
        return;
      }
      keep(record);
    }
    (*sink)(record);
  }

  void setSink(LogSink sink) override {
    auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
    const std::lock_guard lock(mutex_);
    sink_.swap(next);
  }

  std::vector<LogRecord> records() const override {
    const std::lock_guard lock(mutex_);
    return {records_.begin(), records_.end()};
  }

  std::uint64_t dropped() const override {
    const std::lock_guard lock(mutex_);
    return sequence_ - records_.size();
  }

 private:
  template <class Record>
  void keep(Record&& record) {
    if (capacity_ == 0) return;
    if (records_.size() == capacity_) records_.pop_front();
    records_.push_back(std::forward<Record>(record));
  }

  const std::size_t capacity_;
  StripedCounters counters_;
  mutable std::mutex mutex_;
  std::uint64_t sequence_ = 0;
  std::deque<LogRecord> records_;
  std::shared_ptr<const LogSink> sink_;
};

}  // namespace

const char* callKindName(CallKind kind) {
  constexpr std::array<const char*, kCallKinds> kNames = {
      "context",      "set_current",    "module_load",  "module_unload", "library_load",  "stream_create",
      "event_record", "event_wait",     "launch",       "copy",          "allocate",      "free",
      "synchronize",  "peer_access",    "compile",      "cache_hit",     "cache_miss",    "library_unload",
      "function",     "stream_destroy", "event_create", "event_destroy", "event_elapsed", "query",
      "host_memory",  "race",           "hand_off",     "own_stream"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

LogRecord newLogRecord(CallKind kind) {
  LogRecord record;
  record.kind = kind;
  record.nanos = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  record.thread = threadId();
  record.origin = currentOrigin();
  return record;
}

std::unique_ptr<DriverLog> makeDriverLog(std::size_t capacity) { return std::make_unique<BoundedLog>(capacity); }

}  // namespace redraft::devices
