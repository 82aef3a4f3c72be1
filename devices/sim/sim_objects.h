#pragma once
// What the handles of the simulated driver stand for, and where they are found.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "devices/driver.h"
#include "devices/sim/race_check.h"

namespace redraft::devices {

struct ContextState;

/// Immutable after creation.
struct StreamState {
  std::uint64_t id = 0;
  ContextState* context = nullptr;
  std::size_t index = 0;  // of the race check
};

/// Lives as long as the driver: threads keep pointers to it.
struct ContextState {
  std::uint64_t id = 0;
  int device = 0;
  bool primary = false;
  std::atomic<bool> destroyed{false};
  std::atomic<bool> faulted{false};  // a kernel faulted: nothing runs here any more
  std::shared_ptr<const StreamState> defaultStream;
};

/// "context 3 (device 6)", for the reasons of refusals.
inline std::string where(const ContextState& context) {
  return "context " + std::to_string(shownId(context.id)) + " (device " + std::to_string(context.device) + ")";
}

struct EventState {
  std::uint64_t id = 0;
  ContextState* context = nullptr;
  std::mutex mutex;
  bool recorded = false;
  std::int64_t nanos = 0;
  Clock clock;
};

/// A module, or a library (no context).
struct CodeState {
  std::uint64_t id = 0;
  ContextState* context = nullptr;
  std::string name;
  std::map<std::string, HostKernel> kernels;
  std::atomic<bool> unloaded{false};
  std::mutex mutex;
  std::map<std::string, std::uint64_t> functions;  // ids given out; one an entry, as CUDA does
};

/// Immutable after creation.
struct FunctionState {
  std::shared_ptr<const CodeState> code;
  std::string name;
  HostKernel kernel = nullptr;
};

/// Objects by id, thread-safe.
template <class T>
class Registry {
 public:
  void add(std::uint64_t id, std::shared_ptr<T> object) {
    Shard& shard = shards_[id % kShards];
    const std::lock_guard lock(shard.mutex);
    shard.objects.emplace(id, std::move(object));
  }

  std::shared_ptr<T> find(std::uint64_t id) const {
    const Shard& shard = shards_[id % kShards];
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.objects.find(id);
    return found == shard.objects.end() ? nullptr : found->second;
  }

  std::shared_ptr<T> take(std::uint64_t id) {
    Shard& shard = shards_[id % kShards];
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.objects.find(id);
    if (found == shard.objects.end()) return nullptr;
    auto object = std::move(found->second);
    shard.objects.erase(found);
    return object;
  }

 private:
  static constexpr std::size_t kShards = 8;
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::uint64_t, std::shared_ptr<T>> objects;
  };
  std::array<Shard, kShards> shards_;
};

/// Contexts by number: append-only, and lock-free to read, because every change of device asks.
class ContextTable {
 public:
  static constexpr std::uint64_t kCapacity = 1u << 16;

  ContextTable() = default;
  ContextTable(const ContextTable&) = delete;
  ContextTable& operator=(const ContextTable&) = delete;
  ~ContextTable() {
    for (auto& chunk : chunks_) {
      Chunk* owned = chunk.load(std::memory_order_relaxed);
      if (owned == nullptr) continue;
      for (auto& context : *owned) delete context.load(std::memory_order_relaxed);
      delete owned;
    }
  }

  /// Null when there is none of that number.
  ContextState* find(std::uint64_t number) const {
    if (number >= kCapacity) return nullptr;
    const Chunk* chunk = chunks_[number / kChunk].load(std::memory_order_acquire);
    return chunk ? (*chunk)[number % kChunk].load(std::memory_order_acquire) : nullptr;
  }

  /// Not thread-safe against itself.
  void add(std::uint64_t number, std::unique_ptr<ContextState> context) {
    auto& slot = chunks_[number / kChunk];
    Chunk* chunk = slot.load(std::memory_order_relaxed);
    if (chunk == nullptr) {
      chunk = new Chunk{};
      slot.store(chunk, std::memory_order_release);
    }
    (*chunk)[number % kChunk].store(context.release(), std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t kChunk = 256;
  using Chunk = std::array<std::atomic<ContextState*>, kChunk>;
  std::array<std::atomic<Chunk*>, kCapacity / kChunk> chunks_{};
};

}  // namespace redraft::devices
