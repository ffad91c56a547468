#include "kernels/decoder/decoder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sim/base/check.h"

namespace batchvar {

Decoder::Decoder(const DecoderWeights& weights, Isa isa, WorkerPool* pool)
    : weights_(weights),
      model_(weights.config.model),
      dtype_(weights.dtype),
      isa_(isa),
      pool_(pool),
      inverse_frequencies_(InverseFrequencies(weights.config)) {
  BV_CHECK(HasIsa(isa));
}

absl::Status Decoder::CheckRows(std::span<const DecoderRow> rows) const {
  for (const DecoderRow& row : rows) {
    if (row.token < 0 || row.token >= model_.vocab_size) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", row.token, " is not in the vocabulary of ", model_.vocab_size));
    }
    if (row.position >= model_.max_positions) {
      return absl::InvalidArgumentError(absl::StrCat(
          "position ", row.position, " is behind max_position_embeddings ", model_.max_positions));
    }
  }
  return absl::OkStatus();
}

void Decoder::Begin(std::span<const DecoderRow> rows, std::vector<RowOutput>* outputs) {
  rows_ = rows;
  outputs_ = outputs;
  outputs->clear();
  outputs->resize(rows.size());
  fault_ = FloatFault::kNone;
  const int64_t hidden = model_.hidden_size;
  residual_.resize(rows.size() * hidden);
  normed_.resize(rows.size() * hidden);
  partial_.resize(weights_.tp * rows.size() * hidden);
  int64_t positions = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const DecoderRow& row = rows[i];
    BV_CHECK(row.position == row.cache->length());
    row.cache->Grow();
    positions = std::max(positions, row.position + 1);
    std::copy_n(weights_.embedding.begin() + row.token * hidden, hidden,
                residual_.begin() + static_cast<int64_t>(i) * hidden);
  }
  if (positions <= rope_positions_) return;
  constexpr int64_t kFirstPositions = 512;
  rope_positions_ = std::max({positions, 2 * rope_positions_, kFirstPositions});
  rope_.emplace(inverse_frequencies_, rope_positions_);
}

void Decoder::Fail(FloatFault fault) {
  if (fault != FloatFault::kNone) fault_.store(fault, std::memory_order_relaxed);
}

void Decoder::ForEachRow(int64_t count, const std::function<void(int64_t)>& run) {
  pool_->Run(count, [&](int64_t row, int32_t) {
    const FloatFault fault = FindFloatFault();
    fault == FloatFault::kNone ? run(row) : Fail(fault);
  });
}

void Decoder::AddGemmRow(int64_t row, Op op, const uint16_t* x, float* out) {
  gemm_rows_.push_back({x, rows_[row].plan->Of(op).strips, out});
}

void Decoder::RunGemm(const PackedMatrix& weights) {
  if (gemm_rows_.empty()) return;  // an expert that nobody visits
  for (const GemmRow& row :
       gemm_rows_) {  // a plan of another shape would leave columns as they were
    int64_t columns = 0;
    for (const OrderStrip& strip : row.strips) columns += strip.columns.end - strip.columns.begin;
    BV_CHECK(columns == weights.n());
  }
  const GemmOutcome outcome = ExecuteGemm(isa_, weights, gemm_rows_, pool_);
  fallbacks_ += outcome.fallbacks;
  Fail(outcome.fault);
  gemm_rows_.clear();
}

void Decoder::Record(int64_t row, int32_t layer, Op op, std::span<const float> values) {
  if (!rows_[row].wants_records) return;
  std::vector<OpRecord>& records = (*outputs_)[row].records;
  if (records.empty() || records.back().layer != layer || records.back().op != op) {
    records.push_back({layer, op, op == Op::kLmHead ? DType::kFp32 : dtype_, {}});
  }
  records.back().values.insert(records.back().values.end(), values.begin(), values.end());
}

void Decoder::Norm(Op op, int32_t layer, std::span<const uint16_t> weight) {
  const int64_t hidden = model_.hidden_size;
  sums_.resize(std::max<size_t>(sums_.size(), num_rows() * hidden));
  ForEachRow(num_rows(), [&](int64_t row) {
    float* out = &sums_[row * hidden];
    RmsNormRow(rows_[row].plan->SingleOrder(op), std::span(residual_).subspan(row * hidden, hidden),
               weight, static_cast<float>(weights_.config.rms_norm_eps), dtype_, out);
    const std::span<const float> values(out, hidden);
    Record(row, layer, op, values);
    NarrowRow(values, dtype_, &normed_[row * hidden]);
  });
}

void Decoder::Head() {
  std::vector<int64_t> wanted;
  for (int64_t row = 0; row < num_rows(); ++row) {
    if (rows_[row].wants_logits) wanted.push_back(row);
  }
  if (wanted.empty()) return;
  Norm(Op::kFinalNorm, -1, weights_.final_norm);
  for (const int64_t row : wanted) (*outputs_)[row].logits.resize(model_.vocab_size);
  int64_t begin = 0;  // the rank's first column of the vocabulary
  for (const PackedMatrix& head : weights_.head) {
    const int64_t columns = std::min(head.n(), model_.vocab_size - begin);
    sums_.resize(std::max<size_t>(sums_.size(), wanted.size() * head.n()));
    for (size_t i = 0; i < wanted.size(); ++i) {
      AddGemmRow(wanted[i], Op::kLmHead, &normed_[wanted[i] * model_.hidden_size],
                 &sums_[i * head.n()]);
    }
    RunGemm(head);
    for (size_t i = 0; i < wanted.size() && columns > 0; ++i) {
      const std::span<const float> logits(&sums_[i * head.n()], columns);
      std::copy(logits.begin(), logits.end(), (*outputs_)[wanted[i]].logits.begin() + begin);
      Record(wanted[i], -1, Op::kLmHead, logits);
    }
    begin += head.n();
  }
}

absl::Status Decoder::Forward(std::span<const DecoderRow> rows, std::vector<RowOutput>* outputs) {
  if (absl::Status status = CheckRows(rows); !status.ok()) return status;
  Begin(rows, outputs);
  for (int32_t layer = 0; layer < model_.layers && fault_ == FloatFault::kNone; ++layer) {
    AttentionHalf(layer);
    MlpHalf(layer);
  }
  Head();
  if (fault_ != FloatFault::kNone) return absl::InternalError(FloatFaultMessage(fault_));
  return absl::OkStatus();
}

}  // namespace batchvar
