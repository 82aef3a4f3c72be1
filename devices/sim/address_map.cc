#include "devices/sim/address_map.h"

#include <iterator>

namespace redraft::devices {

std::optional<AddressMap::Found> AddressMap::Shard::find(Address address) const {
  const std::lock_guard lock(mutex);
  auto next = map.upper_bound(address);
  if (next == map.begin()) return std::nullopt;
  --next;
  if (address - next->first >= next->second.bytes) return std::nullopt;
  return Found{next->first, next->second};
}

std::optional<Allocation> AddressMap::Shard::erase(Address begin, MemoryOwner owner) {
  const std::lock_guard lock(mutex);
  const auto found = map.find(begin);
  if (found == map.end() || found->second.owner != owner) return std::nullopt;
  const Allocation allocation = found->second;
  map.erase(found);
  return allocation;
}

bool AddressMap::insert(Address begin, const Allocation& allocation) {
  Shard& shard = allocation.bytes > kSmall ? large_ : smallShard(begin);
  const std::lock_guard lock(shard.mutex);
  const auto next = shard.map.upper_bound(begin);
  if (next != shard.map.end() && next->first - begin < allocation.bytes) return false;
  if (next != shard.map.begin()) {
    const auto& [former, known] = *std::prev(next);
    if (begin - former < known.bytes) return false;
  }
  shard.map.emplace_hint(next, begin, allocation);
  return true;
}

std::optional<Allocation> AddressMap::erase(Address begin, MemoryOwner owner) {
  if (auto allocation = smallShard(begin).erase(begin, owner)) return allocation;
  return large_.erase(begin, owner);
}

std::optional<AddressMap::Found> AddressMap::find(Address address) const {
  if (auto found = smallShard(address).find(address)) return found;
  if (address >= kSmall) {
    if (auto found = smallShard(address - kSmall).find(address)) return found;
  }
  return large_.find(address);
}

void AddressMap::markTraced(Address begin) {
  for (Shard* shard : {&smallShard(begin), &large_}) {
    const std::lock_guard lock(shard->mutex);
    const auto found = shard->map.find(begin);
    if (found != shard->map.end()) found->second.traced = true;
  }
}

std::vector<AddressMap::Found> AddressMap::takeContext(std::uint64_t context) {
  std::vector<Found> taken;
  const auto take = [&](Shard& shard) {
    const std::lock_guard lock(shard.mutex);
    for (auto entry = shard.map.begin(); entry != shard.map.end();) {
      if (context != 0 && entry->second.context != context) {
        ++entry;
        continue;
      }
      taken.push_back({entry->first, entry->second});
      entry = shard.map.erase(entry);
    }
  };
  for (Shard& shard : shards_) take(shard);
  take(large_);
  return taken;
}

}  // namespace redraft::devices
