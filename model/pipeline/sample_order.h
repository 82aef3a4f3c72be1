#pragma once
// Which sample comes when: epoch after epoch, each a permutation that is a function of (seed, epoch) alone. Nothing is
// stored, so a resumed run needs no more than the number of samples drawn.

#include <cstdint>

namespace redraft::model {

class SampleOrder {
 public:
  /// count > 0.
  SampleOrder(std::uint64_t seed, std::int64_t count);

  /// Index, in [0, count), of the ordinal-th sample drawn since the run began. Any ordinal ≥ 0, any thread.
  std::int64_t at(std::int64_t ordinal) const;

  std::int64_t count() const { return count_; }

 private:
  std::uint64_t seed_;
  std::int64_t count_;
  int halfBits_;
};

}  // namespace redraft::model
