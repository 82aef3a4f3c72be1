#pragma once
// Safetensors files from a header's text and its data, right or wrong, and tensors from texts.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/safetensors.h"

namespace redraft::testing_support {

inline std::string littleEndian64(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

inline std::string safetensorsBytes(std::string_view header, std::string_view data) {
  return littleEndian64(header.size()).append(header).append(data);
}

/// `data` must outlive the tensor.
inline NamedTensor named(std::string name, Dtype dtype, std::vector<std::int64_t> shape, std::string_view data) {
  return {std::move(name), {dtype, std::move(shape), reinterpret_cast<const std::byte*>(data.data()), data.size()}};
}

inline std::string textOf(const TensorView& view) { return {reinterpret_cast<const char*>(view.data), view.bytes}; }

}  // namespace redraft::testing_support
