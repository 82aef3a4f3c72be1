#pragma once
// Which allocation an address lies in. Allocations do not overlap. Thread-safe, and sharded by address so that threads
// that allocate small blocks at once rarely meet.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace redraft::devices {

enum class MemoryOwner : std::uint8_t { kDriver, kCaller, kHost };

struct Allocation {
  std::size_t bytes = 0;
  int device = -1;  // -1: registered host memory
  MemoryOwner owner = MemoryOwner::kDriver;
  bool traced = false;        // the race check knows ranges of it
  std::uint64_t context = 0;  // it ends with this context
};

using Address = std::uintptr_t;

class AddressMap {
 public:
  struct Found {
    Address begin = 0;
    Allocation allocation;
  };

  /// False when it overlaps a known allocation of about its size and place: misuse is caught, not proved absent.
  bool insert(Address begin, const Allocation& allocation);
  /// Removes the allocation that begins at `begin` and has this owner.
  std::optional<Allocation> erase(Address begin, MemoryOwner owner);
  /// The allocation that holds `address`, which may point into it.
  std::optional<Found> find(Address address) const;
  void markTraced(Address begin);
  /// Removes all that belong to a context; 0 is all there is.
  std::vector<Found> takeContext(std::uint64_t context);

 private:
  // A small allocation begins in the region of any address in it, or in the region before. Larger ones are few, and
  // have a shard of their own.
  static constexpr unsigned kRegionBits = 20;
  static constexpr std::size_t kSmall = std::size_t{1} << kRegionBits;
  static constexpr std::size_t kShards = 64;

  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::map<Address, Allocation> map;
    std::optional<Found> find(Address address) const;
    std::optional<Allocation> erase(Address begin, MemoryOwner owner);
  };

  static std::size_t shardIndex(Address region) { return (region * 0x9E3779B97F4A7C15u) >> 58; }
  const Shard& smallShard(Address address) const { return shards_[shardIndex(address >> kRegionBits)]; }
  Shard& smallShard(Address address) { return shards_[shardIndex(address >> kRegionBits)]; }

  std::array<Shard, kShards> shards_;
  Shard large_;
};

}  // namespace redraft::devices
