#pragma once
// Elementary functions whose bits do not depend on the C library or on the processor: fixed polynomials in double with
// explicit std::fma. Error ≤ 1 ulp of double over the stated range; rounded to float they are correctly rounded but for
// about one value in 10^8.

namespace redraft {

double exactExp(double x);                      // any x; overflow gives inf, underflow 0
double exactLog(double x);                      // x > 0; 0 gives -inf, negative NaN
double exactSin(double x);                      // |x| ≤ 1e9 (three-part Cody–Waite reduction by pi/2)
double exactCos(double x);                      // likewise
double exactPow(double base, double exponent);  // base > 0: exp(exponent · log base), with a log in two doubles

}  // namespace redraft
