#pragma once
// Objects that are never destroyed, because other statics may use them while the program ends. They stay reachable, so
// that a leak checker tells them from what was lost.

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace redraft {

/// Keeps `object` until the process ends. Thread-safe.
template <class T>
T& keepForProcess(std::unique_ptr<T> object) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<T>>;
  const std::scoped_lock lock(mutex);
  return *kept->emplace_back(std::move(object));
}

}  // namespace redraft
