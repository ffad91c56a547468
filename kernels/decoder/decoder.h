// The forward pass of a decoder, row by row under given orders. A row's bits depend on its token,
// its RowPlan and the keys and values before it, on nothing else: not on the rows beside it in the
// call, the threads, or the instruction set. Rows are batched so that a loaded weight serves all.
//
// Where a result is rounded to the activations' type (16 bits): the embedding, every norm, q and k
// before and after RoPE, v, attention, each rank's o_proj and down_proj, all-reduces, the residual
// after each addition, gates and ups, their product, router logits, and each expert's output times
// its weight. Between these points everything is fp32; logits stay fp32. Experts' outputs are
// added in fp32 by ascending expert.
#ifndef BATCHVAR_KERNELS_DECODER_DECODER_H_
#define BATCHVAR_KERNELS_DECODER_DECODER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row_ops.h"
#include "kernels/decoder/decoder_weights.h"
#include "kernels/decoder/kv_cache.h"
#include "kernels/decoder/moe_routing.h"
#include "kernels/decoder/row_plan.h"
#include "sim/divergence/pass_comparison.h"

namespace batchvar {

struct DecoderRow {
  int64_t token = 0;
  // Equals cache->length() plus the number of rows of the same cache before it in the call.
  int64_t position = 0;
  KvCache* cache = nullptr;
  const RowPlan* plan = nullptr;  // has lm_head if `wants_logits`
  bool wants_logits = false;
  bool wants_records = false;  // every op's results, for ComparePasses
};

struct RowOutput {
  std::vector<float> logits;  // [vocab_size] if wanted
  std::vector<OpRecord> records;
  std::vector<MoeRoute> routes;  // by layer; MoE only
};

class Decoder {
 public:
  // `weights` and `pool` outlive the decoder; `isa` is one that this CPU has.
  Decoder(const DecoderWeights& weights, Isa isa, WorkerPool* pool);

  // Runs the rows and grows their caches. Rows of one cache are consecutive positions in ascending
  // order; each sees those before it, also of this call. (*outputs)[i] is row i's.
  // Token ids or positions outside the model: InvalidArgument, nothing is done. A float environment
  // that is not IEEE: Internal; the caches then hold junk.
  absl::Status Forward(std::span<const DecoderRow> rows, std::vector<RowOutput>* outputs);

  const DecoderWeights& weights() const { return weights_; }
  // Fused sums that the scalar reference had to redo, since construction: slow, never wrong.
  int64_t fallbacks() const { return fallbacks_; }

 private:
  // decoder.cc: the pass as a whole, and what all parts use.
  absl::Status CheckRows(std::span<const DecoderRow> rows) const;
  void Begin(std::span<const DecoderRow> rows, std::vector<RowOutput>* outputs);
  void ForEachRow(int64_t count, const std::function<void(int64_t)>& run);
  // Adds a product to those that RunGemm() then runs together: x[K] -> out[N].
  void AddGemmRow(int64_t row, Op op, const uint16_t* x, float* out);
  void RunGemm(const PackedMatrix& weights);
  // normed_ of every row from its residual_.
  void Norm(Op op, int32_t layer, std::span<const uint16_t> weight);
  void Head();
  // Appends to the op's record; ranks, heads and experts join one record.
  void Record(int64_t row, int32_t layer, Op op, std::span<const float> values);
  void Fail(FloatFault fault);

  // decoder_attention.cc
  void AttentionHalf(int32_t layer);
  void QkvProj(int32_t layer);
  // QK-norm and RoPE of heads[count][head_dim], in place.
  void NormHeads(int64_t row, int32_t layer, Op op, std::span<const uint16_t> weight,
                 uint16_t* heads, int32_t count);
  void TurnHeads(int64_t row, uint16_t* heads, int32_t count);
  void Attention(int32_t layer);
  void OProj(int32_t layer);
  // Each rank's words of partial_ into one row, which is added to the residual.
  void ReduceAndAdd(int32_t layer, Op allreduce);

  // decoder_mlp.cc
  void MlpHalf(int32_t layer);
  void ChooseExperts(int32_t layer);
  // Items are (row, expert) pairs: item i belongs to row i / items_per_row(). In a dense layer they
  // are the rows.
  void GateUpAndProduct(int32_t layer);
  void Down(int32_t layer);
  void SumExperts(int64_t row, float* down, uint16_t* partial);
  bool Visits(int64_t item, int32_t expert) const {
    return !model_.IsMoe() || experts_[item] == expert;
  }

  int64_t num_rows() const { return std::ssize(rows_); }
  int64_t items_per_row() const { return model_.IsMoe() ? model_.experts_per_token : 1; }

  const DecoderWeights& weights_;
  const ModelSpec& model_;
  const DType dtype_;
  const Isa isa_;
  WorkerPool* const pool_;
  std::vector<double> inverse_frequencies_;
  std::optional<RopeTable> rope_;  // of rope_positions_ positions, made again when more are needed
  int64_t rope_positions_ = 0;
  int64_t fallbacks_ = 0;
  std::atomic<FloatFault> fault_ = FloatFault::kNone;

  // The call that runs; memory is kept from call to call.
  std::span<const DecoderRow> rows_;
  std::vector<RowOutput>* outputs_ = nullptr;
  std::vector<uint16_t> residual_;  // [rows][hidden]
  std::vector<uint16_t> normed_;    // [rows][hidden]
  std::vector<uint16_t> queries_;   // [rows][q_heads][head_dim]
  std::vector<uint16_t> mixed_;     // [rows][q_heads][head_dim]: attention's results
  std::vector<uint16_t> partial_;   // [ranks][rows][hidden]
  std::vector<uint16_t> product_;   // [ranks][items][width]: silu(gate) * up
  std::vector<uint16_t> narrowed_;  // of the op that runs, as are sums_
  std::vector<float> sums_;
  std::vector<GemmRow> gemm_rows_;
  std::vector<AttentionJob> jobs_;
  std::vector<int32_t> experts_;       // of the items: a row's by ascending expert
  std::vector<float> expert_weights_;  // of the items
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_DECODER_H_
