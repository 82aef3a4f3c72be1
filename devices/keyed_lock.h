#pragma once
// Mutual exclusion by name, with a time-out: one thread at a time compiles an artefact or loads a key.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "devices/origin.h"

namespace redraft::devices {

class NamedMutexes {
 public:
  /// Waits at most `patience` for `name`. Empty when it is now held; otherwise who holds it.
  std::optional<Origin> acquire(const std::string& name, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const bool free = released_.wait_for(lock, patience, [&] { return holders_.find(name) == holders_.end(); });
    if (!free) return holders_.at(name);
    holders_.emplace(name, currentOrigin());
    return std::nullopt;
  }

  void release(const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      holders_.erase(name);
    }
    released_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  std::unordered_map<std::string, Origin> holders_;
};

}  // namespace redraft::devices
