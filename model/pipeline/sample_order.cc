#include "model/pipeline/sample_order.h"

#include <array>

#include "base/error.h"
#include "base/philox.h"

namespace redraft::model {

namespace {

constexpr int kRounds = 6;

struct EpochKey {
  std::array<std::uint32_t, 2> key;
};

EpochKey epochKey(std::uint64_t seed, std::int64_t epoch) {
  CounterRng rng(seed, "sample-order", static_cast<std::uint64_t>(epoch));
  const std::uint32_t low = rng.next32();
  return {{low, rng.next32()}};
}

/// A balanced Feistel network over 2·halfBits bits: a bijection for any round function (Luby and Rackoff).
std::uint64_t permute(std::uint64_t value, int halfBits, const EpochKey& key) {
  const std::uint64_t mask = (std::uint64_t{1} << halfBits) - 1;
  std::uint64_t left = value >> halfBits;
  std::uint64_t right = value & mask;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint32_t mixed = philox4x32({static_cast<std::uint32_t>(right), round, 0, 0}, key.key)[0];
    const std::uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return left << halfBits | right;
}

}  // namespace

SampleOrder::SampleOrder(std::uint64_t seed, std::int64_t count) : seed_(seed), count_(count), halfBits_(1) {
  REDRAFT_CHECK(count > 0, "an order needs at least one sample");
  while ((std::int64_t{1} << (2 * halfBits_)) < count) ++halfBits_;
}

std::int64_t SampleOrder::at(std::int64_t ordinal) const {
  const EpochKey key = epochKey(seed_, ordinal / count_);
  // Cycle walking: the network permutes a power of four that holds `count`; points outside are mapped on until one is
  // inside. The domain is less than four times the count, so this takes four rounds on average.
  std::uint64_t value = static_cast<std::uint64_t>(ordinal % count_);
  do {
    value = permute(value, halfBits_, key);
  } while (value >= static_cast<std::uint64_t>(count_));
  return static_cast<std::int64_t>(value);
}

}  // namespace redraft::model
