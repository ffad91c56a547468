// Devices written out by hand, so that these tests do not need configs/.
#ifndef BATCHVAR_TESTS_PLAN_DEVICES_H_
#define BATCHVAR_TESTS_PLAN_DEVICES_H_

#include "sim/plan/device_spec.h"

namespace batchvar {

inline DeviceSpec Device(int32_t sm_count, int32_t compute_capability = 90) {
  DeviceSpec device;
  device.name = "test";
  device.sm_count = sm_count;
  device.compute_capability = compute_capability;
  return device;
}

// Round data-sheet numbers of an H100 SXM.
inline DeviceSpec H100() {
  DeviceSpec device = Device(132);
  device.name = "h100_sxm";
  device.memory_bytes = 80'000'000'000;
  device.memory_bytes_per_s = 3'350'000'000'000;
  device.dense_16bit_flops = 989'000'000'000'000;
  device.interconnect_bytes_per_s = 450'000'000'000;
  device.step_overhead_ns = 100'000;
  return device;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PLAN_DEVICES_H_
