#include "golden/student.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace redraft::golden {

double studentWithin(double t, int degrees) {
  REDRAFT_CHECK(t >= 0 && degrees >= 1, "an argument of Student's t");
  const double angle = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(angle), square = cosine * cosine;
  // Odd: θ + sin θ (cos θ + 2/3 cos³ θ + …); even: sin θ (1 + 1/2 cos² θ + …); to the power degrees − 2.
  const bool odd = degrees % 2 != 0;
  double term = odd ? cosine : 1, sum = degrees == 1 ? 0 : term;
  for (int k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= square * (k - 1) / k;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

double studentQuantile(double confidence, int degrees) {
  REDRAFT_CHECK(confidence > 0 && confidence < 1, "a confidence");
  double low = 0, high = 1;
  while (studentWithin(high, degrees) < confidence) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (studentWithin(middle, degrees) < confidence ? low : high) = middle;
  }
  return high;
}

}  // namespace redraft::golden
