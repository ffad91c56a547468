// Whether the calling thread computes with IEEE 754 floats as the executors need them: rounding to
// nearest, subnormals kept. Libraries that a host process loads may have set flush-to-zero, so
// every entry to an executor asks, on every thread that will compute.
#ifndef BATCHVAR_KERNELS_CPU_FLOAT_ENVIRONMENT_H_
#define BATCHVAR_KERNELS_CPU_FLOAT_ENVIRONMENT_H_

#include <cstdint>

namespace batchvar {

enum class FloatFault : uint8_t {
  kNone,
  kFlushToZero,       // results that are subnormal become 0 (FTZ)
  kDenormalsAreZero,  // operands that are subnormal count as 0 (DAZ)
  kRounding,          // not to nearest, ties to even
};

// The first fault of the calling thread. Never changes a mode.
FloatFault FindFloatFault();

// What is wrong and what to do; "" for kNone.
const char* FloatFaultMessage(FloatFault fault);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_FLOAT_ENVIRONMENT_H_
