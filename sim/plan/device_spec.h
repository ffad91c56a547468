// What the planner and the step-time model need to know of a device. Read from configs/devices by
// sim/config; every field has the name of its YAML key. Nothing in the code fixes 132 SMs.
#ifndef BATCHVAR_SIM_PLAN_DEVICE_SPEC_H_
#define BATCHVAR_SIM_PLAN_DEVICE_SPEC_H_

#include <cstdint>
#include <string>

#include "sim/numerics/order.h"

namespace batchvar {

struct DeviceSpec {
  std::string name;
  int32_t sm_count = 0;
  int32_t compute_capability = 0;  // 10 * major + minor: 90 for sm_90
  int64_t memory_bytes = 0;
  int64_t memory_bytes_per_s = 0;        // peak of the data sheet
  int64_t dense_16bit_flops = 0;         // peak without sparsity, BF16 = FP16
  int64_t interconnect_bytes_per_s = 0;  // per direction between two ranks
  int64_t reserve_bytes = 0;             // activations, graphs and context: not for the KV cache
  int64_t step_overhead_ns = 0;          // launch and host time that every step pays
  std::string source;                    // where the numbers come from

  // The arithmetic of its 16-bit tensor-core instructions. Hopper and Blackwell (sm_100, sm_120)
  // fuse 16 products in the same way, Ampere and Ada fuse 8 (docs/policies.md).
  Arithmetic MmaArithmetic() const {
    return compute_capability >= 90 ? Arithmetic::kMmaSm90 : Arithmetic::kMmaSm80;
  }
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_DEVICE_SPEC_H_
