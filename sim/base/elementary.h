// exp, log, pow and log-gamma out of correctly rounded operations alone (+ - * / and bit moves), so
// that a seed gives the same bytes with every libm, compiler and under WebAssembly. The C library's
// versions may differ in the last bit from one release to the next; these cannot, as long as the
// compiler neither contracts nor reassociates (-ffp-contract=off, no fast-math; see cmake/).
// Special values are those of the C functions, except that NaNs carry no payload.
//
// Callers: sim/base/rng.cc, the arrival and length generators of sim/serving, and the one split
// rule of sim/plan that takes a logarithm. Step costs and kernels never call these.
#ifndef BATCHVAR_SIM_BASE_ELEMENTARY_H_
#define BATCHVAR_SIM_BASE_ELEMENTARY_H_

namespace batchvar {

// Error below 1 ULP where the result is normal, 1 more where it is subnormal. Overflows to infinity
// above 709.78 and underflows to 0 below -745.13.
double PortableExp(double x);

// Natural logarithm, error below 1 ULP for all positive x, subnormals included. -infinity at 0, NaN
// below.
double PortableLog(double x);

// x to the power y for x >= 0, as exp(y log x): relative error about (1 + |y log x|) * 2^-53, so
// good to 1e-13 over the whole range. 0 to a positive power is 0, anything to the power 0 is 1, and
// NaN below 0. Enough for weights and quantiles; not a replacement for std::pow.
double PortablePow(double x, double y);

// log(Gamma(x)) for x > 0: Stirling's series after shifting x above 8. Error below
// 1e-14 * max(1, |result|): absolute near the zeros at 1 and 2. Infinity at 0, NaN below.
double PortableLogGamma(double x);

// The largest integer not above x, for |x| < 2^62.
double PortableFloor(double x);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_BASE_ELEMENTARY_H_
