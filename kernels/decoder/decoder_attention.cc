// The first half of a layer: norm, q, k and v, RoPE, attention over the cache, o_proj.
#include <algorithm>

#include "kernels/decoder/decoder.h"
#include "sim/base/check.h"
#include "sim/numerics/elementary.h"

namespace batchvar {

void Decoder::NormHeads(int64_t row, int32_t layer, Op op, std::span<const uint16_t> weight,
                        uint16_t* heads, int32_t count) {
  const int64_t head_dim = model_.head_dim;
  float* out = &sums_[row * head_dim];
  for (int32_t head = 0; head < count; ++head) {
    uint16_t* words = heads + head * head_dim;
    RmsNormRow(rows_[row].plan->SingleOrder(op), std::span<const uint16_t>(words, head_dim), weight,
               static_cast<float>(weights_.config.rms_norm_eps), dtype_, out);
    const std::span<const float> values(out, head_dim);
    Record(row, layer, op, values);
    NarrowRow(values, dtype_, words);
  }
}

void Decoder::TurnHeads(int64_t row, uint16_t* heads, int32_t count) {
  const int64_t head_dim = model_.head_dim;
  float* out = &sums_[row * head_dim];
  const auto cos = rope_->Cos(rows_[row].position), sin = rope_->Sin(rows_[row].position);
  for (int32_t head = 0; head < count; ++head) {
    uint16_t* words = heads + head * head_dim;
    RopeHead(std::span<const uint16_t>(words, head_dim), cos, sin, dtype_, out);
    NarrowRow(std::span<const float>(out, head_dim), dtype_, words);
  }
}

void Decoder::QkvProj(int32_t layer) {
  const int64_t head_dim = model_.head_dim, hidden = model_.hidden_size;
  const int64_t q_width = model_.q_heads * head_dim;
  const int64_t rank_q = q_width / weights_.tp;
  const int64_t rank_kv = KvHeadsOfRank(model_, weights_.tp) * head_dim;
  queries_.resize(num_rows() * q_width);
  for (int32_t rank = 0; rank < weights_.tp; ++rank) {
    const PackedMatrix& qkv = weights_.layers[layer].qkv[rank];
    sums_.resize(std::max<size_t>(sums_.size(), num_rows() * qkv.n()));
    for (int64_t row = 0; row < num_rows(); ++row) {
      AddGemmRow(row, Op::kQkvProj, &normed_[row * hidden], &sums_[row * qkv.n()]);
    }
    RunGemm(qkv);
    ForEachRow(num_rows(), [&](int64_t row) {
      const std::span<const float> sums(&sums_[row * qkv.n()], qkv.n());
      Record(row, layer, Op::kQkvProj, sums);
      KvCache& cache = *rows_[row].cache;
      const int64_t position = rows_[row].position;
      const int64_t head = FirstKvHead(model_, weights_.tp, rank) * head_dim;
      NarrowRow(sums.first(rank_q), dtype_, &queries_[row * q_width + rank * rank_q]);
      NarrowRow(sums.subspan(rank_q, rank_kv), dtype_, cache.Key(layer, position) + head);
      NarrowRow(sums.last(rank_kv), dtype_, cache.Value(layer, position) + head);
    });
  }
}

void Decoder::Attention(int32_t layer) {
  const int64_t head_dim = model_.head_dim, width = model_.q_heads * head_dim;
  const int32_t group = model_.q_heads / model_.kv_heads;
  sums_.resize(std::max<size_t>(sums_.size(), num_rows() * width));
  mixed_.resize(num_rows() * width);
  jobs_.clear();
  for (int64_t row = 0; row < num_rows(); ++row) {
    const KvCache& cache = *rows_[row].cache;
    const Order& order = rows_[row].plan->SingleOrder(Op::kAttention);
    for (const Range& piece : order.pieces) {
      BV_CHECK(piece.begin >= 0 && piece.end <= rows_[row].position + 1);
    }
    for (int32_t head = 0; head < model_.q_heads; ++head) {
      AttentionJob& job = jobs_.emplace_back();
      job.operands.dtype = dtype_;
      job.operands.head_dim = model_.head_dim;
      job.operands.scale = 1.0f / CorrectSqrt(static_cast<float>(head_dim));
      job.operands.q = &queries_[row * width + head * head_dim];
      job.operands.k = cache.Keys(layer) + head / group * head_dim;
      job.operands.v = cache.Values(layer) + head / group * head_dim;
      job.operands.kv_stride = cache.stride();
      job.operands.block_table = cache.block_table();
      job.operands.block_size = cache.block_size();
      job.order = &order;
      job.output = &sums_[row * width + head * head_dim];
    }
  }
  Fail(ExecuteAttention(isa_, jobs_, pool_, &fallbacks_));
  ForEachRow(num_rows(), [&](int64_t row) {
    const std::span<const float> values(&sums_[row * width], width);
    Record(row, layer, Op::kAttention, values);
    NarrowRow(values, dtype_, &mixed_[row * width]);
  });
}

void Decoder::OProj(int32_t layer) {
  const int64_t hidden = model_.hidden_size;
  const int64_t width = int64_t{model_.q_heads} * model_.head_dim;
  sums_.resize(std::max<size_t>(sums_.size(), num_rows() * hidden));
  for (int32_t rank = 0; rank < weights_.tp; ++rank) {
    for (int64_t row = 0; row < num_rows(); ++row) {
      AddGemmRow(row, Op::kOProj, &mixed_[row * width + rank * (width / weights_.tp)],
                 &sums_[row * hidden]);
    }
    RunGemm(weights_.layers[layer].o[rank]);
    ForEachRow(num_rows(), [&](int64_t row) {
      const std::span<const float> sums(&sums_[row * hidden], hidden);
      Record(row, layer, Op::kOProj, sums);
      NarrowRow(sums, dtype_, &partial_[(rank * num_rows() + row) * hidden]);
    });
  }
}

void Decoder::ReduceAndAdd(int32_t layer, Op allreduce) {
  const int64_t hidden = model_.hidden_size;
  ForEachRow(num_rows(), [&](int64_t row) {
    float* out = &sums_[row * hidden];
    uint16_t* words = &partial_[row * hidden];  // rank 0's, then the sum
    if (weights_.tp > 1) {
      std::vector<const uint16_t*> ranks;
      for (int32_t rank = 0; rank < weights_.tp; ++rank) {
        ranks.push_back(&partial_[(rank * num_rows() + row) * hidden]);
      }
      AllReduceRow(rows_[row].plan->Of(allreduce).strips, hidden, ranks, dtype_, out);
      Record(row, layer, allreduce, std::span<const float>(out, hidden));
      NarrowRow(std::span<const float>(out, hidden), dtype_, words);
    }
    AddRow(std::span<const uint16_t>(words, hidden),
           std::span<const uint16_t>(residual_).subspan(row * hidden, hidden), dtype_, out);
    NarrowRow(std::span<const float>(out, hidden), dtype_, &residual_[row * hidden]);
  });
}

void Decoder::AttentionHalf(int32_t layer) {
  const DecoderLayer& weights = weights_.layers[layer];
  const int64_t q_width = int64_t{model_.q_heads} * model_.head_dim;
  Norm(Op::kRmsNormIn, layer, weights.norm_in);
  QkvProj(layer);
  ForEachRow(num_rows(), [&](int64_t row) {
    KvCache& cache = *rows_[row].cache;
    uint16_t* q = &queries_[row * q_width];
    uint16_t* k = cache.Key(layer, rows_[row].position);
    if (model_.qk_norm) {
      NormHeads(row, layer, Op::kQNorm, weights.q_norm, q, model_.q_heads);
      NormHeads(row, layer, Op::kKNorm, weights.k_norm, k, model_.kv_heads);
    }
    TurnHeads(row, q, model_.q_heads);
    TurnHeads(row, k, model_.kv_heads);
  });
  Attention(layer);
  OProj(layer);
  ReduceAndAdd(layer, Op::kAllReduceAttention);
}

}  // namespace batchvar
