#include "model/pipeline/gradient_digest.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"

namespace redraft::model {

namespace {

at::Tensor onHost(const at::Tensor& tensor) { return tensor.detach().to(at::kCPU).contiguous(); }

int hexValue(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

std::array<std::uint8_t, 16> hashOf(const float* values, std::int64_t count) {
  const std::string hex = hashBytes(values, static_cast<std::size_t>(count) * sizeof(float));
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(hexValue(hex[2 * i]) << 4 | hexValue(hex[2 * i + 1]));
  }
  return bytes;
}

/// -1 where the bit is set, else 1, for the 16 low bits of every byte pair: a row of the table is one byte's signs.
std::array<std::array<double, 8>, 256> signTable() {
  std::array<std::array<double, 8>, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = (byte >> bit & 1) != 0 ? -1.0 : 1.0;
  }
  return table;
}

}  // namespace

GradientDigest digestGradient(const at::Tensor& gradient, std::uint64_t parameter) {
  static const std::array<std::array<double, 8>, 256> kSigns = signTable();
  REDRAFT_CHECK(gradient.scalar_type() == at::kFloat, "gradients are float32");
  const at::Tensor host = onHost(gradient);
  const float* values = host.const_data_ptr<float>();
  CounterRng rng(0, "sketch", parameter);
  std::array<double, kSketchSize> sums{};
  double squares = 0;
  GradientDigest digest;
  for (std::int64_t i = 0; i < host.numel(); ++i) {
    const double value = values[i];
    squares += value * value;
    digest.max = std::fabs(value) > digest.max || std::isnan(value) ? std::fabs(value) : digest.max;
    const std::uint32_t bits = rng.next32();
    const std::array<double, 8>& low = kSigns[bits & 255];
    const std::array<double, 8>& high = kSigns[bits >> 8 & 255];
    for (std::size_t j = 0; j < 8; ++j) sums[j] += low[j] * value;
    for (std::size_t j = 0; j < 8; ++j) sums[8 + j] += high[j] * value;
  }
  digest.l2 = std::sqrt(squares);
  digest.hash = hashOf(values, host.numel());
  for (std::size_t j = 0; j < sums.size(); ++j) digest.sketch[j] = static_cast<float>(sums[j] / 4);
  return digest;
}

std::string hashTensors(const std::vector<at::Tensor>& tensors) {
  Hasher hasher;
  if (!tensors.empty() && tensors.front().is_cuda()) {
    // The same bytes in one copy: each of many small ones would wait for the stream.
    std::vector<at::Tensor> bytes;
    for (const at::Tensor& tensor : tensors) bytes.push_back(tensor.detach().contiguous().view(-1).view(at::kByte));
    const at::Tensor host = at::cat(bytes).to(at::kCPU);
    hasher.update(host.const_data_ptr(), host.nbytes());
    return hasher.digest();
  }
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor host = onHost(tensor);
    hasher.update(host.const_data_ptr(), host.nbytes());
  }
  return hasher.digest();
}

}  // namespace redraft::model
