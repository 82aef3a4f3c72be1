#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11). A number is a function of its key and counter, so
// draws never depend on thread, device or order.

#include <array>
#include <cstdint>
#include <string_view>

namespace redraft {

/// One Philox4x32-10 block.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// A stream of numbers keyed by (seed, purpose, a, b), e.g. (seed, "anchors", step, sample id). Copyable; two streams
/// with the same key give the same numbers. No libm inside: normal() uses redraft's own log and cosine.
class CounterRng {
 public:
  CounterRng(std::uint64_t seed, std::string_view purpose, std::uint64_t a = 0, std::uint64_t b = 0);

  std::uint32_t next32();
  std::uint64_t next64();
  /// Uniform in [0, 1), 24 bits.
  float uniform();
  /// Uniform in [0, bound), without bias. bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Standard normal (Box–Muller in double, rounded to float).
  float normal();
  /// Of a stream that nothing was drawn from: goes to where `pairs` pairs of normals have been drawn.
  void skipNormalPairs(std::uint64_t pairs);

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_;
  int used_ = 4;
  bool hasSpare_ = false;
  double spare_ = 0;
};

}  // namespace redraft
