#include "sim/shape/op_shape.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

constexpr int64_t kVocabPadding = 64;    // vLLM 0.32, vocab_parallel_embedding
constexpr int64_t kActivationBytes = 2;  // all-reduced activations are BF16 or FP16

int64_t PaddedVocab(const ModelSpec& model) {
  return CeilDiv(model.vocab_size, kVocabPadding) * kVocabPadding;
}

// KV heads on one rank; vLLM copies them when there are fewer than ranks.
int32_t KvHeadsPerRank(const ModelSpec& model, int32_t tp) {
  return std::max(model.kv_heads / tp, 1);
}

// Builds the list; every function adds a part of a layer in execution order.
class StepOpsBuilder {
 public:
  StepOpsBuilder(const ModelSpec& model, int32_t tp) : model_(model), tp_(tp) {}

  std::vector<OpShape> Build() {
    AddAttentionHalf();
    AddNorm(Op::kRmsNormPost, model_.layers, RowsOf::kTokens, 1, model_.hidden_size);
    if (model_.IsMoe()) {
      AddMoe();
    } else {
      AddDenseMlp();
    }
    AddAllReduce(Op::kAllReduceMlp);
    AddNorm(Op::kFinalNorm, 1, RowsOf::kTokens, 1, model_.hidden_size);
    OpShape& head = AddGemm(Op::kLmHead, PaddedVocab(model_) / tp_, model_.hidden_size);
    head.count = 1;
    head.rows_of = RowsOf::kRequests;
    // Padding columns are cut off before sampling, so this width is the vocabulary's own.
    AddNorm(Op::kArgmax, 1, RowsOf::kRequests, 1, model_.vocab_size);
    return std::move(ops_);
  }

 private:
  void AddAttentionHalf() {
    const int32_t q_heads = model_.q_heads / tp_;
    const int32_t kv_heads = KvHeadsPerRank(model_, tp_);
    const int64_t hidden = model_.hidden_size;
    AddNorm(Op::kRmsNormIn, model_.layers, RowsOf::kTokens, 1, hidden);
    AddGemm(Op::kQkvProj, int64_t{q_heads + 2 * kv_heads} * model_.head_dim, hidden);
    if (model_.qk_norm) {
      AddNorm(Op::kQNorm, model_.layers, RowsOf::kTokensPerHead, q_heads, model_.head_dim);
      AddNorm(Op::kKNorm, model_.layers, RowsOf::kTokensPerHead, kv_heads, model_.head_dim);
    }
    OpShape& attention = Add(Op::kAttention, model_.layers, RowsOf::kPerRequest);
    attention.q_heads = q_heads;
    attention.kv_heads = kv_heads;
    attention.head_dim = model_.head_dim;
    AddGemm(Op::kOProj, hidden, int64_t{q_heads} * model_.head_dim).allreduce_bytes_per_token =
        AllReduceBytes();
    AddAllReduce(Op::kAllReduceAttention);
  }

  void AddDenseMlp() {
    const int64_t width = model_.intermediate_size / tp_;
    AddGemm(Op::kGateUpProj, 2 * width, model_.hidden_size);
    AddGemm(Op::kDownProj, model_.hidden_size, width).allreduce_bytes_per_token = AllReduceBytes();
  }

  void AddMoe() {
    const int64_t width = model_.moe_intermediate_size / tp_;
    AddGemm(Op::kRouter, model_.num_experts, model_.hidden_size);  // whole on every rank
    OpShape& up = AddGemm(Op::kMoeGateUp, 2 * width, model_.hidden_size);
    up.rows_per_token = model_.experts_per_token;
    up.num_experts = model_.num_experts;
    OpShape& down = AddGemm(Op::kMoeDown, model_.hidden_size, width);
    down.rows_per_token = model_.experts_per_token;
    down.num_experts = model_.num_experts;
    down.allreduce_bytes_per_token = AllReduceBytes();
  }

  void AddAllReduce(Op op) {
    if (tp_ == 1) return;
    Add(op, model_.layers, RowsOf::kTokens).allreduce_bytes_per_token = AllReduceBytes();
  }

  OpShape& AddGemm(Op op, int64_t n, int64_t k) {
    OpShape& shape = Add(op, model_.layers, RowsOf::kTokens);
    shape.n = n;
    shape.k = k;
    return shape;
  }

  void AddNorm(Op op, int32_t count, RowsOf rows_of, int32_t rows_per_token, int64_t width) {
    OpShape& shape = Add(op, count, rows_of);
    shape.rows_per_token = rows_per_token;
    shape.k = width;
  }

  OpShape& Add(Op op, int32_t count, RowsOf rows_of) {
    OpShape& shape = ops_.emplace_back();
    shape.op = op;
    shape.count = count;
    shape.rows_of = rows_of;
    return shape;
  }

  int64_t AllReduceBytes() const { return tp_ == 1 ? 0 : model_.hidden_size * kActivationBytes; }

  const ModelSpec& model_;
  const int32_t tp_;
  std::vector<OpShape> ops_;
};

}  // namespace

const char* OpName(Op op) {
  switch (op) {
    case Op::kRmsNormIn: return "rms_norm_in";
    case Op::kQkvProj: return "qkv_proj";
    case Op::kQNorm: return "q_norm";
    case Op::kKNorm: return "k_norm";
    case Op::kAttention: return "attention";
    case Op::kOProj: return "o_proj";
    case Op::kAllReduceAttention: return "allreduce_attention";
    case Op::kRmsNormPost: return "rms_norm_post";
    case Op::kGateUpProj: return "gate_up_proj";
    case Op::kDownProj: return "down_proj";
    case Op::kRouter: return "router";
    case Op::kMoeGateUp: return "moe_gate_up";
    case Op::kMoeDown: return "moe_down";
    case Op::kAllReduceMlp: return "allreduce_mlp";
    case Op::kFinalNorm: return "final_norm";
    case Op::kLmHead: return "lm_head";
    case Op::kArgmax: return "softmax_or_argmax";
  }
  return "?";
}

OpKind KindOf(Op op) {
  switch (op) {
    case Op::kQkvProj:
    case Op::kOProj:
    case Op::kGateUpProj:
    case Op::kDownProj:
    case Op::kRouter:
    case Op::kLmHead: return OpKind::kGemm;
    case Op::kAttention: return OpKind::kAttention;
    case Op::kRmsNormIn:
    case Op::kQNorm:
    case Op::kKNorm:
    case Op::kRmsNormPost:
    case Op::kFinalNorm: return OpKind::kNorm;
    case Op::kAllReduceAttention:
    case Op::kAllReduceMlp: return OpKind::kAllReduce;
    case Op::kMoeGateUp:
    case Op::kMoeDown: return OpKind::kMoe;
    case Op::kArgmax: return OpKind::kRowwise;
  }
  return OpKind::kRowwise;
}

const char* ValidateTp(const ModelSpec& model, int32_t tp) {
  if (tp < 1) return "tp must be at least 1";
  if (model.q_heads % tp != 0) return "tp must divide q_heads";
  // Fewer KV heads than ranks are copied, but only evenly.
  if (model.kv_heads % tp != 0 && tp % model.kv_heads != 0) {
    return "tp must divide kv_heads or be a multiple of it";
  }
  if (!model.IsMoe() && model.intermediate_size % tp != 0) {
    return "tp must divide intermediate_size";
  }
  if (model.IsMoe() && model.moe_intermediate_size % tp != 0) {
    return "tp must divide moe_intermediate_size";
  }
  if (PaddedVocab(model) % tp != 0) return "tp must divide vocab_size rounded up to 64";
  return nullptr;
}

std::vector<OpShape> StepOps(const ModelSpec& model, int32_t tp) {
  BV_CHECK(ValidateTp(model, tp) == nullptr);
  return StepOpsBuilder(model, tp).Build();
}

int64_t RowsFor(const OpShape& shape, int64_t padded_tokens, int64_t num_requests) {
  switch (shape.rows_of) {
    case RowsOf::kTokens:
    case RowsOf::kTokensPerHead: return padded_tokens * shape.rows_per_token;
    case RowsOf::kRequests:
    case RowsOf::kPerRequest: return num_requests;
  }
  return 0;
}

}  // namespace batchvar
