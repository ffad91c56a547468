// Sine and cosine out of correctly rounded operations alone, for the tables of rotary position
// embeddings: the same bits with every libm and compiler (sim/base/elementary.h says why).
#ifndef BATCHVAR_SIM_BASE_TRIGONOMETRY_H_
#define BATCHVAR_SIM_BASE_TRIGONOMETRY_H_

namespace batchvar {

struct SinCos {
  double sin = 0.0;
  double cos = 1.0;
};

// Radians, |x| <= 2^20: positions times a frequency of at most 1. Absolute error below 2^-52.
SinCos PortableSinCos(double x);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_BASE_TRIGONOMETRY_H_
