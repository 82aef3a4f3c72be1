#pragma once
// Student's t distribution, as far as bounds need it.

namespace redraft::golden {

/// P(|T| > t) for `degrees` >= 1 of freedom and t >= 0: the finite sums of Abramowitz & Stegun 26.7.3 and 26.7.4. Exact
/// to about 1e-14, absolutely.
double studentTail(double t, int degrees);

/// The t with P(|T| > t) = tail, for tail in [1e-12, 1).
double studentQuantile(double tail, int degrees);

}  // namespace redraft::golden
