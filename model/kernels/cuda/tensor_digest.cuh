#pragma once
// The digest of a tensor's bytes: the sum, modulo 2^64, of a mixed value of every word of 8 bytes and its place. A sum
// does not depend on its order, so any number of threads gives the same one, and a GPU's is the CPU's. Bytes are all
// that it sees: a NaN is its bits, −0 is not 0. The rest of the last word counts as zeros; the length is not in it.

#include <cstdint>

namespace redraft::model::gpu {

using DigestWord = unsigned long long;

/// Threads of a block, and the most blocks of a launch.
inline constexpr unsigned kDigestThreads = 256;
inline constexpr unsigned kDigestBlocks = 1056;

/// Odd constants and shifts of MurmurHash3's 64-bit finaliser (Appleby), over a word that its place has been added to.
inline DigestWord mixWord(DigestWord word, std::int64_t place) {
  DigestWord x = word + static_cast<DigestWord>(place + 1) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDull;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53ull;
  return x ^ (x >> 33);
}

/// Little-endian, as every device that this runs on is.
inline DigestWord wordOf(const unsigned char* bytes, std::int64_t count) {
  DigestWord word = 0;
  for (std::int64_t i = 0; i < count; ++i) word |= static_cast<DigestWord>(bytes[i]) << (8 * i);
  return word;
}

/// The part of the sum that thread `first` of `threads` has.
inline DigestWord digestShare(const unsigned char* bytes, std::int64_t count, std::int64_t first,
                              std::int64_t threads) {
  const std::int64_t words = count / 8;
  const bool aligned = (reinterpret_cast<unsigned long>(bytes) & 7) == 0;
  DigestWord sum = 0;
  for (std::int64_t i = first; i < words; i += threads) {
    const unsigned char* at = bytes + 8 * i;
    sum += mixWord(aligned ? *reinterpret_cast<const DigestWord*>(at) : wordOf(at, 8), i);
  }
  if (first == 0 && words * 8 < count) sum += mixWord(wordOf(bytes + 8 * words, count - 8 * words), words);
  return sum;
}

}  // namespace redraft::model::gpu
