#include "harness/bisect/sequential_test.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace redraft::harness {

SequentialTest::SequentialTest(double misleading, double error) : misleading_(misleading) {
  REDRAFT_CHECK(misleading >= 0 && misleading < 0.5 && error > 0 && error < 0.5, "rates of a sequential test");
  if (misleading > 0)
    margin_ = std::max(
        1, static_cast<int>(std::ceil(std::log((1 - error) / error) / std::log((1 - misleading) / misleading) - 1e-9)));
}

SequentialTest::Answer SequentialTest::answer() const {
  if (lead_ >= margin_) return Answer::kBad;
  return lead_ <= -margin_ ? Answer::kGood : Answer::kOpen;
}

double SequentialTest::errorRate() const {
  if (misleading_ == 0) return 0;
  return 1 / (1 + std::pow((1 - misleading_) / misleading_, margin_));
}

double errorPerCommit(double total, int commits) {
  const double between = std::ceil(std::log2(std::max(commits, 1)));
  return total / (2 + between);
}

}  // namespace redraft::harness
