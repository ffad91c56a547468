#include "sim/plan/gemm_sglang_invariant.h"

namespace batchvar {
namespace {

// SGLang 0.5.23: smallest N that DeepGEMM gets, and the alignment of a row for TMA.
constexpr int64_t kMinDeepGemmN = 16;
constexpr int64_t kTmaBytes = 16;

GemmPolicySpec TritonSpec(GemmPolicySpec spec) {
  spec.variant = InvariantVariant::kOneTile;  // the kernel is that of batch_invariant_ops
  return spec;
}

}  // namespace

GemmSglangInvariant::GemmSglangInvariant(const GemmPolicySpec& spec)
    : deepgemm_(DefaultGemmPolicy(GemmPolicyKind::kDeepGemm)), triton_(TritonSpec(spec)) {}

const GemmPolicy& GemmSglangInvariant::At(const GemmShape& shape, const DeviceSpec& device) const {
  const bool aligned = shape.k * DTypeBytes(shape.dtype) % kTmaBytes == 0;
  if (shape.n >= kMinDeepGemmN && aligned && deepgemm_.CanRun(shape, device)) {
    return deepgemm_;
  }
  return triton_;
}

GemmDecision GemmSglangInvariant::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  return At(shape, device).Decide(shape, device);
}

void GemmSglangInvariant::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const bool uses_deepgemm = &At(plan->shape, device) == &deepgemm_;
  At(plan->shape, device).Explain(device, plan);
  plan->explain.insert(plan->explain.begin(),
                       uses_deepgemm
                           ? "SGLang's deterministic mode: DeepGEMM, as N >= 16 and rows "
                             "are aligned for TMA, whatever M"
                           : "SGLang's deterministic mode: the Triton kernel, as DeepGEMM "
                             "cannot take this N, K, type or device");
}

const char* GemmSglangInvariant::name() const {
  return PolicyName(GemmPolicyKind::kBatchInvariant);
}

PolicySource GemmSglangInvariant::source() const {
  return {"SGLang", "0.5.23, deterministic matmul", "2026-11-29"};
}

}  // namespace batchvar
