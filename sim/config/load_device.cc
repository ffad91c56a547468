// `device:` -> DeviceSpec.
#include "sim/config/spec_parts.h"

namespace batchvar {
namespace {

// Far above any device, and small enough that a product with a million fits in 64 bits.
constexpr int64_t kMaxSms = 1 << 16;
constexpr int64_t kMaxMemoryBytes = int64_t{1} << 43;
constexpr int64_t kMaxPerSecond = 1'000'000'000'000'000'000;
constexpr int64_t kMaxOverheadNs = 1'000'000'000;
// Tensor cores with BF16 begin with sm_80; the arithmetic of older ones is another.
constexpr int64_t kMinComputeCapability = 80;
constexpr int64_t kMaxComputeCapability = 199;

}  // namespace

DeviceSpec ReadDevice(const ConfigNode& node, FirstError* errors) {
  DeviceSpec device;
  device.name = "inline";
  MapReader reader(node, "device", errors);
  reader.Require({"sm_count", "compute_capability", "memory_bytes", "memory_bytes_per_s",
                  "dense_16bit_flops", "interconnect_bytes_per_s"});
  reader.Text("name", &device.name);
  reader.Integer("sm_count", 1, kMaxSms, &device.sm_count);
  reader.Integer("compute_capability", kMinComputeCapability, kMaxComputeCapability,
                 &device.compute_capability);
  reader.Integer("memory_bytes", 1, kMaxMemoryBytes, &device.memory_bytes);
  reader.Integer("memory_bytes_per_s", 1, kMaxPerSecond, &device.memory_bytes_per_s);
  reader.Integer("dense_16bit_flops", 1, kMaxPerSecond, &device.dense_16bit_flops);
  reader.Integer("interconnect_bytes_per_s", 1, kMaxPerSecond, &device.interconnect_bytes_per_s);
  reader.Integer("reserve_bytes", 0, kMaxMemoryBytes, &device.reserve_bytes);
  reader.Integer("step_overhead_ns", 0, kMaxOverheadNs, &device.step_overhead_ns);
  reader.Text("source", &device.source);
  reader.Finish();
  return device;
}

}  // namespace batchvar
