#include "sim/plan/policy_spec.h"

namespace batchvar {
namespace {

Tile DefaultTile(GemmPolicyKind kind, DType dtype) {
  if (kind == GemmPolicyKind::kTextbook) return {16, 128, 64};
  switch (dtype) {
    case DType::kBf16: return {128, 128, 64};
    case DType::kFp16: return {128, 256, 64};
    case DType::kFp32: return {128, 128, 32};
  }
  return {128, 128, 64};
}

}  // namespace

GemmPolicySpec DefaultGemmPolicy(GemmPolicyKind kind) {
  GemmPolicySpec spec;
  spec.kind = kind;
  if (kind != GemmPolicyKind::kTextbook) spec.tile_m = spec.tile_n = spec.tile_k = 0;
  return spec;
}

Tile TileOf(const GemmPolicySpec& spec, DType dtype) {
  const Tile own = DefaultTile(spec.kind, dtype);
  return {spec.tile_m > 0 ? spec.tile_m : own.m, spec.tile_n > 0 ? spec.tile_n : own.n,
          spec.tile_k > 0 ? spec.tile_k : own.k};
}

const char* PolicyName(GemmPolicyKind kind) {
  switch (kind) {
    case GemmPolicyKind::kTextbook: return "textbook";
    case GemmPolicyKind::kBatchInvariant: return "batch_invariant";
  }
  return "?";
}

const char* PolicyName(AttentionPolicyKind kind) {
  switch (kind) {
    case AttentionPolicyKind::kTextbook: return "textbook";
    case AttentionPolicyKind::kBatchInvariant: return "batch_invariant";
  }
  return "?";
}

const char* PolicyName(NormPolicyKind kind) {
  switch (kind) {
    case NormPolicyKind::kNormInvariant: return "norm_invariant";
    case NormPolicyKind::kNormVllm: return "norm_vllm";
  }
  return "?";
}

const char* PolicyName(AllReducePolicyKind kind) {
  switch (kind) {
    case AllReducePolicyKind::kOneShot: return "one_shot";
  }
  return "?";
}

}  // namespace batchvar
