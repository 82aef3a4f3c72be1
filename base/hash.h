#pragma once
// XXH3-128 content hashes: fast, stable across machines, not for security.

#include <cstddef>
#include <string>
#include <string_view>

namespace redraft {

/// 32 lower-case hex digits.
std::string hashBytes(const void* data, std::size_t bytes);
std::string hashText(std::string_view text);

/// The same hash over pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void update(const void* data, std::size_t bytes);
  std::string digest() const;

 private:
  void* state_;
};

}  // namespace redraft
