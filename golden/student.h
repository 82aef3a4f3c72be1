#pragma once
// Student's t with a whole number of degrees of freedom. Boost.Math has it, in a package of 140 MB of headers; for
// whole numbers it is a sum of a few terms (Abramowitz and Stegun, 26.7.3 and 26.7.4).

namespace redraft::golden {

/// P(|T| ≤ t), t ≥ 0.
double studentWithin(double t, int degrees);

/// The t with P(|T| ≤ t) = `confidence`, in (0, 1).
double studentQuantile(double confidence, int degrees);

}  // namespace redraft::golden
