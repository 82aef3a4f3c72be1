#include "devices/sim/address_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace redraft::devices {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

Allocation bytes(std::size_t size, std::uint64_t context = 1) {
  return {size, 0, MemoryOwner::kDriver, false, context};
}

TEST(AddressMapTest, FindsInteriorAddressesAcrossRegionBoundaries) {
  AddressMap map;
  const Address small = 5 * kMiB - 16;  // straddles a region's end
  ASSERT_TRUE(map.insert(small, bytes(64)));
  const Address large = 100 * kMiB + 8;
  ASSERT_TRUE(map.insert(large, bytes(40 * kMiB)));
  for (const Address inside : {small, small + 15, small + 16, small + 63}) {
    ASSERT_TRUE(map.find(inside)) << inside - small;
    EXPECT_EQ(map.find(inside)->begin, small);
  }
  for (const Address inside : {large, large + kMiB, large + 40 * kMiB - 1}) {
    ASSERT_TRUE(map.find(inside));
    EXPECT_EQ(map.find(inside)->begin, large);
  }
  for (const Address outside : {Address{0}, small - 1, small + 64, large - 1, large + 40 * kMiB}) {
    EXPECT_FALSE(map.find(outside)) << outside;
  }
}

TEST(AddressMapTest, RefusesOverlaps) {
  AddressMap map;
  ASSERT_TRUE(map.insert(1000, bytes(100)));
  EXPECT_FALSE(map.insert(1000, bytes(1)));
  EXPECT_FALSE(map.insert(1099, bytes(10)));
  EXPECT_FALSE(map.insert(990, bytes(11)));
  EXPECT_TRUE(map.insert(990, bytes(10)));
  EXPECT_TRUE(map.insert(1100, bytes(10)));
}

TEST(AddressMapTest, ErasesOnlyWhatBeginsThereAndHasTheOwner) {
  AddressMap map;
  ASSERT_TRUE(map.insert(64, bytes(64)));
  EXPECT_FALSE(map.erase(65, MemoryOwner::kDriver));
  EXPECT_FALSE(map.erase(64, MemoryOwner::kCaller));
  EXPECT_EQ(map.erase(64, MemoryOwner::kDriver)->bytes, 64u);
  EXPECT_FALSE(map.find(64));
}

TEST(AddressMapTest, TakesWhatBelongsToAContext) {
  AddressMap map;
  ASSERT_TRUE(map.insert(64, bytes(64, 7)));
  ASSERT_TRUE(map.insert(8 * kMiB, bytes(2 * kMiB, 7)));
  ASSERT_TRUE(map.insert(32 * kMiB, bytes(64, 8)));
  EXPECT_EQ(map.takeContext(7).size(), 2u);
  EXPECT_FALSE(map.find(64));
  EXPECT_TRUE(map.find(32 * kMiB));
}

TEST(AddressMapTest, AgreesWithAPlainMapOverRandomAllocations) {
  AddressMap map;
  std::map<Address, std::size_t> plain;
  std::mt19937_64 random(1);
  Address next = kMiB;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t size = std::size_t{1} << (random() % 23);
    ASSERT_TRUE(map.insert(next, bytes(size)));
    plain.emplace(next, size);
    next += size + random() % 300;
    if (i % 3 != 0) continue;
    auto victim = plain.lower_bound(random() % next);
    if (victim == plain.end()) continue;
    ASSERT_TRUE(map.erase(victim->first, MemoryOwner::kDriver));
    plain.erase(victim);
  }
  for (int i = 0; i < 20000; ++i) {
    const Address address = random() % next;
    auto above = plain.upper_bound(address);
    const bool inside = above != plain.begin() && address - std::prev(above)->first < std::prev(above)->second;
    const auto found = map.find(address);
    ASSERT_EQ(found.has_value(), inside) << address;
    if (inside) {
      ASSERT_EQ(found->begin, std::prev(above)->first);
    }
  }
}

}  // namespace
}  // namespace redraft::devices
