#pragma once
// A safetensors file from a header's text and its data, right or wrong.

#include <cstdint>
#include <string>
#include <string_view>

namespace redraft::testing_support {

inline std::string littleEndian64(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

inline std::string safetensorsBytes(std::string_view header, std::string_view data) {
  return littleEndian64(header.size()).append(header).append(data);
}

}  // namespace redraft::testing_support
