// The ops of one decoder step and their sizes under tensor parallelism.
// Source of the table: vLLM 0.32 model definitions (2026-11), checked against
// reference/heuristics/shapes.csv.
#ifndef BATCHVAR_SIM_SHAPE_OP_SHAPE_H_
#define BATCHVAR_SIM_SHAPE_OP_SHAPE_H_

#include <cstdint>
#include <vector>

#include "sim/shape/model_spec.h"

namespace batchvar {

// In the order in which a layer runs them; reports and `explain` keep this order.
enum class Op : uint8_t {
  kRmsNormIn,
  kQkvProj,
  kQNorm,
  kKNorm,
  kAttention,
  kOProj,
  kAllReduceAttention,
  kRmsNormPost,
  kGateUpProj,
  kDownProj,
  kRouter,
  kMoeGateUp,
  kMoeDown,
  kAllReduceMlp,
  kFinalNorm,
  kLmHead,
  kArgmax,
};

enum class OpKind : uint8_t { kGemm, kAttention, kNorm, kAllReduce, kMoe, kRowwise };

const char* OpName(Op op);  // "qkv_proj", "o_proj", ...: the names of shapes.csv
OpKind KindOf(Op op);

// Which count of the step gives an op its rows.
enum class RowsOf : uint8_t {
  kTokens,         // T, padded to a capture size: the body
  kTokensPerHead,  // T * rows_per_token (q_norm, k_norm)
  kRequests,       // R = scheduled requests, unfinished chunks included, not padded: the head
  kPerRequest,     // attention
};

// One op of the step, everything but M.
struct OpShape {
  Op op = Op::kQkvProj;
  int32_t count = 0;  // times per step (layers, or 1)
  RowsOf rows_of = RowsOf::kTokens;
  int32_t rows_per_token = 1;  // heads for q_norm and k_norm, experts_per_token for MoE GEMMs
  int64_t n = 0;               // GEMM: output features; else 0
  int64_t k = 0;               // GEMM: summed features; norms and arg-max: row width; else 0
  int32_t q_heads = 0;         // attention, on this rank
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  int64_t allreduce_bytes_per_token = 0;  // GEMM: of the all-reduce that follows, 0 without one;
                                          // all-reduce: of itself. 16-bit activations.
  int32_t num_experts = 0;
  friend bool operator==(const OpShape&, const OpShape&) = default;
};

// All ops of one step on one of `tp` ranks, in execution order; all-reduces exist when tp > 1. KV
// heads are copied where there are fewer than ranks, the vocabulary is padded to 64 before it is
// cut, and the router is whole on every rank. Call ValidateTp first: here it is a check.
std::vector<OpShape> StepOps(const ModelSpec& model, int32_t tp);

// nullptr when the model can be cut into `tp` ranks, else the reason.
const char* ValidateTp(const ModelSpec& model, int32_t tp);

// M of an op: `padded_tokens` times rows_per_token for the body, `num_requests` for the head and
// for attention (its plans are per request).
int64_t RowsFor(const OpShape& shape, int64_t padded_tokens, int64_t num_requests);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SHAPE_OP_SHAPE_H_
