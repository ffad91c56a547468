// Which decomposition policy each kind of op uses, with its parameters. Read by sim/config from
// `policies:`; keys have the names of the fields. A new policy joins by adding an enum value, its
// parameters here, and an implementation behind the interfaces of gemm_policy.h and
// attention_policy.h.
#ifndef BATCHVAR_SIM_PLAN_POLICY_SPEC_H_
#define BATCHVAR_SIM_PLAN_POLICY_SPEC_H_

#include <cstdint>
#include <string>

#include "sim/plan/plan.h"

namespace batchvar {

enum class GemmPolicyKind : uint8_t { kTextbook, kBatchInvariant };
enum class AttentionPolicyKind : uint8_t { kTextbook, kBatchInvariant };
enum class NormPolicyKind : uint8_t { kNormInvariant, kNormVllm };
enum class AllReducePolicyKind : uint8_t { kOneShot };

// textbook: fill the device once, then stop (docs/policies.md). k_min and max_split are this
// project's choice. batch_invariant uses the tile keys only. A tile key of 0 means the policy's own
// default (TileOf); the values below are textbook's, DefaultGemmPolicy() gives any policy's.
struct GemmPolicySpec {
  GemmPolicyKind kind = GemmPolicyKind::kTextbook;
  int32_t tile_m = 16;
  int32_t tile_n = 128;
  int32_t tile_k = 64;
  int32_t k_min = 256;
  int32_t max_split = 32;
};

// A spec of `kind` with no key given: textbook's numbers, or tile keys of 0 for batch_invariant.
GemmPolicySpec DefaultGemmPolicy(GemmPolicyKind kind);
// The tile that a spec asks for: its own keys, and for those that are 0
//   textbook         16 x 128 x 64
//   batch_invariant  BF16 128 x 128 x 64, FP16 128 x 256 x 64, FP32 128 x 128 x 32
//                    (batch_invariant_ops f22b1fbe, 2025-11-03)
Tile TileOf(const GemmPolicySpec& spec, DType dtype);

struct AttentionPolicySpec {
  AttentionPolicyKind kind = AttentionPolicyKind::kTextbook;
  int32_t tile_q = 64;        // query rows (q_len * group) of one block
  int32_t tile_kv = 128;      // KV positions of one inner block
  int32_t max_split = 32;     // textbook
  int32_t split_size = 2048;  // batch_invariant: KV positions of one split, counted from token 0
};

struct NormPolicySpec {
  NormPolicyKind kind = NormPolicyKind::kNormInvariant;
};

struct AllReducePolicySpec {
  AllReducePolicyKind kind = AllReducePolicyKind::kOneShot;
};

struct PolicySpec {
  std::string name = "textbook";  // the preset's or file's name, for show
  GemmPolicySpec gemm;
  AttentionPolicySpec attention;
  NormPolicySpec norm;
  AllReducePolicySpec allreduce;
};

const char* PolicyName(GemmPolicyKind kind);
const char* PolicyName(AttentionPolicyKind kind);
const char* PolicyName(NormPolicyKind kind);
const char* PolicyName(AllReducePolicyKind kind);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_POLICY_SPEC_H_
