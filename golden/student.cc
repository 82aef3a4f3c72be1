#include "golden/student.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace redraft::golden {

double studentTail(double t, int degrees) {
  REDRAFT_CHECK(t >= 0 && degrees >= 1, "a two-sided tail of at least one degree of freedom");
  const double angle = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(angle), sine = std::sin(angle), square = cosine * cosine;
  const bool even = degrees % 2 == 0;
  double term = even ? 1 : cosine, sum = degrees == 1 ? 0 : term;
  for (int k = even ? 2 : 3; k < degrees; k += 2) {
    term *= square * (k - 1) / k;
    sum += term;
  }
  const double inside = even ? sine * sum : 2 / std::numbers::pi * (angle + sine * sum);
  return std::clamp(1 - inside, 0.0, 1.0);
}

double studentQuantile(double tail, int degrees) {
  REDRAFT_CHECK(tail >= 1e-12 && tail < 1, "a tail that doubles can tell from none");
  double low = 0, high = 1;
  while (studentTail(high, degrees) > tail) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (studentTail(middle, degrees) > tail ? low : high) = middle;
  }
  return high;
}

}  // namespace redraft::golden
