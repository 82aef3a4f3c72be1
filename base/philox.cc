#include "base/philox.h"

#include <cmath>

#include "base/error.h"
#include "base/exact_math.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace redraft {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

// The 128 bits of XXH3 over (seed, hash of purpose, a, b) name the stream: 64 are the key, 64 the upper half of the
// counter; the lower half counts blocks.
CounterRng::CounterRng(std::uint64_t seed, std::string_view purpose, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t words[4] = {seed, XXH3_64bits(purpose.data(), purpose.size()), a, b};
  const XXH128_hash_t name = XXH3_128bits(words, sizeof words);
  key_ = {static_cast<std::uint32_t>(name.low64), static_cast<std::uint32_t>(name.low64 >> 32)};
  counter_ = {0, 0, static_cast<std::uint32_t>(name.high64), static_cast<std::uint32_t>(name.high64 >> 32)};
  block_ = {};
}

std::uint32_t CounterRng::next32() {
  if (used_ == 4) {
    block_ = philox4x32(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t CounterRng::next64() {
  const std::uint64_t low = next32();
  return low | std::uint64_t{next32()} << 32;
}

float CounterRng::uniform() { return static_cast<float>(next32() >> 8) * 0x1p-24f; }

// Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019).
std::uint64_t CounterRng::below(std::uint64_t bound) {
  REDRAFT_CHECK(bound > 0, "CounterRng::below needs a positive bound");
  using Wide = unsigned __int128;
  Wide product = Wide{next64()} * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t biased = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < biased) product = Wide{next64()} * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

void CounterRng::skipNormalPairs(std::uint64_t pairs) {
  REDRAFT_CHECK(used_ == 4 && counter_[0] == 0 && counter_[1] == 0, "only a fresh stream can be skipped in");
  counter_[0] = static_cast<std::uint32_t>(pairs);  // a pair takes a block
  counter_[1] = static_cast<std::uint32_t>(pairs >> 32);
}

float CounterRng::normal() {
  if (hasSpare_) {
    hasSpare_ = false;
    return static_cast<float>(spare_);
  }
  const double u = static_cast<double>((next64() >> 11) + 1) * 0x1p-53;                       // (0, 1]
  const double angle = static_cast<double>(next64() >> 11) * 0x1p-53 * 0x1.921fb54442d18p+2;  // [0, 2 pi)
  const double radius = std::sqrt(-2 * exactLog(u));
  spare_ = radius * exactSin(angle);
  hasSpare_ = true;
  return static_cast<float>(radius * exactCos(angle));
}

}  // namespace redraft
