#include "base/hash.h"

#include <cstdint>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace redraft {
namespace {

std::string hex(XXH128_hash_t hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 32; ++i) {
    const std::uint64_t half = i < 16 ? hash.high64 : hash.low64;
    text[static_cast<std::size_t>(i)] = kDigits[(half >> (60 - 4 * (i % 16))) & 15];
  }
  return text;
}

}  // namespace

std::string hashBytes(const void* data, std::size_t bytes) { return hex(XXH3_128bits(data, bytes)); }

std::string hashText(std::string_view text) { return hashBytes(text.data(), text.size()); }

Hasher::Hasher() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}

Hasher::~Hasher() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

void Hasher::update(const void* data, std::size_t bytes) {
  if (bytes > 0) XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), data, bytes);
}

std::string Hasher::digest() const { return hex(XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_))); }

}  // namespace redraft
