#include "sim/plan/moe_policy.h"

#include "sim/base/check.h"

namespace batchvar {

MoeTile VllmMoeTile(int64_t tokens, int64_t experts) {
  BV_CHECK(tokens >= 1 && experts >= 1);
  MoeTile out;
  out.tile.m = tokens <= 32 ? 16 : (tokens <= 96 ? 32 : (tokens <= 512 ? 64 : 128));
  out.tile.n = tokens <= 64 ? 64 : 128;
  out.tile.k = tokens <= 64 ? 128 : 64;
  out.group_m = tokens / experts > 128 ? 16 : 1;
  out.num_warps = tokens <= 128 ? 4 : 8;
  out.num_stages = tokens <= 32 ? 4 : 3;
  return out;
}

Order MoeOrder(const MoePolicySpec& /*spec*/, int64_t k, DType dtype, const DeviceSpec& device) {
  return Order{device.MmaArithmetic(), Combine::kNone, DType::kFp32, dtype, 0, {{0, k}}};
}

PolicySource MoeSource(const MoePolicySpec& spec) {
  switch (spec.kind) {
    case MoePolicyKind::kMoeVllm: return {"vLLM", "0.32.0", "2026-10"};
  }
  return {};
}

}  // namespace batchvar
