#include "kernels/cpu/float_environment.h"

#include <cfenv>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace batchvar {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kMxcsrDaz = 1u << 6;
constexpr uint32_t kMxcsrFtz = 1u << 15;
constexpr uint32_t kMxcsrRounding = 3u << 13;

FloatFault FaultOfMode() {
  const uint32_t mode = _mm_getcsr();
  if ((mode & kMxcsrFtz) != 0) return FloatFault::kFlushToZero;
  if ((mode & kMxcsrDaz) != 0) return FloatFault::kDenormalsAreZero;
  return (mode & kMxcsrRounding) != 0 ? FloatFault::kRounding : FloatFault::kNone;
}
#else
FloatFault FaultOfMode() {
  // Elsewhere the effect is observed instead of the mode bits.
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float half = smallest * 0.5f;
  if (half == 0.0f) return FloatFault::kFlushToZero;
  return std::fegetround() != FE_TONEAREST ? FloatFault::kRounding : FloatFault::kNone;
}
#endif

}  // namespace

FloatFault FindFloatFault() { return FaultOfMode(); }

const char* FloatFaultMessage(FloatFault fault) {
  switch (fault) {
    case FloatFault::kNone: return "";
    case FloatFault::kFlushToZero:
      return "flush-to-zero (FTZ) is set on an executing thread, so subnormal results would be "
             "lost; clear it before the call (a library built with fast-math may have set it)";
    case FloatFault::kDenormalsAreZero:
      return "denormals-are-zero (DAZ) is set on an executing thread, so subnormal operands would "
             "be lost; clear it before the call (a library built with fast-math may have set it)";
    case FloatFault::kRounding:
      return "an executing thread does not round to nearest; call fesetround(FE_TONEAREST) first";
  }
  return "?";
}

}  // namespace batchvar
