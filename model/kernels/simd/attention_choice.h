#pragma once
// Chooses among the instantiations of an attention kernel.

#include <array>

#include "model/kernels/simd/attention_kernel.h"
#include "model/kernels/simd/lanes.h"

namespace redraft::model::simd {

/// `Entry<D, T, rule>::run` for a head dimension (0: any), an element type and a mask rule.
template <template <int, class, MaskRule> class Entry>
class AttentionChoice {
 public:
  static Kernel of(std::int64_t headDim, MaskRule rule, bool bfloat16) {
    switch (headDim) {
      case 8:
        return byType<8>(rule, bfloat16);
      case 16:
        return byType<16>(rule, bfloat16);
      case 32:
        return byType<32>(rule, bfloat16);
      case 64:
        return byType<64>(rule, bfloat16);
      case 128:
        return byType<128>(rule, bfloat16);
      default:
        return byType<0>(rule, bfloat16);
    }
  }

 private:
  template <int D>
  static Kernel byType(MaskRule rule, bool bfloat16) {
    return bfloat16 ? byRule<D, BFloat>(rule) : byRule<D, float>(rule);
  }

  template <int D, class T>
  static Kernel byRule(MaskRule rule) {
    static constexpr std::array<Kernel, 3> kKernels = {&Entry<D, T, MaskRule::kCausal>::run,
                                                       &Entry<D, T, MaskRule::kDraftFull>::run,
                                                       &Entry<D, T, MaskRule::kDraftSliding>::run};
    return kKernels.at(static_cast<std::size_t>(rule));
  }
};

}  // namespace redraft::model::simd
