#include "sim/plan/policy_spec.h"

namespace batchvar {
namespace {

constexpr Tile kSmallTile = {16, 128, 64};  // of the worked numbers: 32 blocks for 16 x 4096
constexpr Tile kWideTile = {128, 128, 64};

// batch_invariant_ops f22b1fbe, 2025-11-03.
Tile InvariantTile(DType dtype) {
  switch (dtype) {
    case DType::kBf16: return {128, 128, 64};
    case DType::kFp16: return {128, 256, 64};
    case DType::kFp32: return {128, 128, 32};
  }
  return {128, 128, 64};
}

Tile DefaultTile(const GemmPolicySpec& spec, DType dtype) {
  switch (spec.kind) {
    case GemmPolicyKind::kTextbook:
    case GemmPolicyKind::kCutlassSplitK: return kSmallTile;
    case GemmPolicyKind::kBatchInvariant:
      return spec.variant == InvariantVariant::kFreeTile ? kSmallTile : InvariantTile(dtype);
    case GemmPolicyKind::kStreamK:
    case GemmPolicyKind::kDeepGemm:
    case GemmPolicyKind::kGemv:
    case GemmPolicyKind::kTable: return kWideTile;
  }
  return kWideTile;
}

}  // namespace

GemmPolicySpec DefaultGemmPolicy(GemmPolicyKind kind) {
  GemmPolicySpec spec;
  spec.kind = kind;
  if (kind != GemmPolicyKind::kTextbook) spec.tile_m = spec.tile_n = spec.tile_k = 0;
  return spec;
}

Tile TileOf(const GemmPolicySpec& spec, DType dtype) {
  const Tile own = DefaultTile(spec, dtype);
  return {spec.tile_m > 0 ? spec.tile_m : own.m, spec.tile_n > 0 ? spec.tile_n : own.n,
          spec.tile_k > 0 ? spec.tile_k : own.k};
}

const char* PolicyName(GemmPolicyKind kind) {
  switch (kind) {
    case GemmPolicyKind::kTextbook: return "textbook";
    case GemmPolicyKind::kBatchInvariant: return "batch_invariant";
    case GemmPolicyKind::kCutlassSplitK: return "cutlass_splitk";
    case GemmPolicyKind::kStreamK: return "stream_k";
    case GemmPolicyKind::kDeepGemm: return "deepgemm";
    case GemmPolicyKind::kGemv: return "gemv";
    case GemmPolicyKind::kTable: return "table";
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

const char* ModeName(SplitKMode mode) {
  return mode == SplitKMode::kSerial ? "serial" : "parallel";
}

const char* ModeName(StreamKMode mode) {
  switch (mode) {
    case StreamKMode::kHeuristic: return "heuristic";
    case StreamKMode::kSplitK: return "split_k";
    case StreamKMode::kDataParallel: return "data_parallel";
    case StreamKMode::kStreamK: return "stream_k";
  }
  return "?";
}

const char* ArchName(DeepGemmArch arch) {
  switch (arch) {
    case DeepGemmArch::kAuto: return "auto";
    case DeepGemmArch::kSm90: return "sm90";
    case DeepGemmArch::kSm100: return "sm100";
  }
  return "?";
}

const char* VariantName(InvariantVariant variant) {
  switch (variant) {
    case InvariantVariant::kOneTile: return "one_tile";
    case InvariantVariant::kFreeTile: return "free_tile";
    case InvariantVariant::kSglang: return "sglang";
    case InvariantVariant::kVllm: return "vllm";
  }
  return "?";
}

const char* LayoutName(TableLayout layout) { return layout == TableLayout::kNt ? "nt" : "tn"; }

}  // namespace batchvar
