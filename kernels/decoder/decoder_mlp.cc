// The second half of a layer: norm, router, gates and ups, their product, down_proj. A dense layer
// is one expert that every row visits with weight 1.
#include <algorithm>
#include <numeric>

#include "kernels/decoder/decoder.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {

void Decoder::ChooseExperts(int32_t layer) {
  const int64_t experts = model_.num_experts, chosen = model_.experts_per_token;
  sums_.resize(std::max<size_t>(sums_.size(), num_rows() * experts));
  experts_.resize(num_rows() * chosen);
  expert_weights_.resize(num_rows() * chosen);
  for (int64_t row = 0; row < num_rows(); ++row) {
    AddGemmRow(row, Op::kRouter, &normed_[row * model_.hidden_size], &sums_[row * experts]);
  }
  RunGemm(weights_.layers[layer].router);
  ForEachRow(num_rows(), [&](int64_t row) {
    const std::span<float> logits(&sums_[row * experts], experts);
    Record(row, layer, Op::kRouter, logits);
    for (float& logit : logits) logit = RoundTo(logit, dtype_);
    MoeRoute route = ChooseRoute(logits, model_.experts_per_token, weights_.config.norm_topk_prob);
    route.layer = layer;
    std::vector<int64_t> by_expert(chosen);
    std::iota(by_expert.begin(), by_expert.end(), 0);
    std::sort(by_expert.begin(), by_expert.end(),
              [&](int64_t a, int64_t b) { return route.experts[a] < route.experts[b]; });
    for (int64_t i = 0; i < chosen; ++i) {
      experts_[row * chosen + i] = route.experts[by_expert[i]];
      expert_weights_[row * chosen + i] = route.weights[by_expert[i]];
    }
    (*outputs_)[row].routes.push_back(std::move(route));
  });
}

void Decoder::GateUpAndProduct(int32_t layer) {
  const std::vector<MlpWeights>& mlps = weights_.layers[layer].mlps;
  const Op op = model_.IsMoe() ? Op::kMoeGateUp : Op::kGateUpProj;
  const int64_t items = num_rows() * items_per_row();
  const int64_t both = mlps[0].gate_up[0].n(), width = both / 2;
  sums_.resize(std::max<size_t>(sums_.size(), items * both));
  narrowed_.resize(items * both);
  product_.resize(weights_.tp * items * width);
  for (int32_t rank = 0; rank < weights_.tp; ++rank) {
    for (int32_t expert = 0; expert < std::ssize(mlps); ++expert) {
      for (int64_t item = 0; item < items; ++item) {
        if (!Visits(item, expert)) continue;
        const int64_t row = item / items_per_row();
        AddGemmRow(row, op, &normed_[row * model_.hidden_size], &sums_[item * both]);
      }
      RunGemm(mlps[expert].gate_up[rank]);
    }
    ForEachRow(num_rows(), [&](int64_t row) {
      for (int64_t item = row * items_per_row(); item < (row + 1) * items_per_row(); ++item) {
        const std::span<float> sums(&sums_[item * both], both);
        const std::span<uint16_t> words(&narrowed_[item * both], both);
        Record(row, layer, op, sums);
        NarrowRow(sums, dtype_, words.data());
        SiluMulRow(words.first(width), words.last(width), dtype_, sums.data());
        NarrowRow(sums.first(width), dtype_, &product_[(rank * items + item) * width]);
      }
    });
  }
}

void Decoder::SumExperts(int64_t row, float* down, uint16_t* partial) {
  const int64_t hidden = model_.hidden_size;
  for (int64_t column = 0; column < hidden; ++column) {
    float sum = 0.0f;
    for (int64_t i = 0; i < items_per_row(); ++i) {
      const float weight = expert_weights_[row * items_per_row() + i];
      sum += RoundTo(weight * down[i * hidden + column], dtype_);
    }
    partial[column] = Narrow(sum, dtype_);
  }
}

void Decoder::Down(int32_t layer) {
  const std::vector<MlpWeights>& mlps = weights_.layers[layer].mlps;
  const Op op = model_.IsMoe() ? Op::kMoeDown : Op::kDownProj;
  const int64_t items = num_rows() * items_per_row();
  const int64_t hidden = model_.hidden_size, width = mlps[0].down[0].k();
  sums_.resize(std::max<size_t>(sums_.size(), items * hidden));
  for (int32_t rank = 0; rank < weights_.tp; ++rank) {
    for (int32_t expert = 0; expert < std::ssize(mlps); ++expert) {
      for (int64_t item = 0; item < items; ++item) {
        if (!Visits(item, expert)) continue;
        AddGemmRow(item / items_per_row(), op, &product_[(rank * items + item) * width],
                   &sums_[item * hidden]);
      }
      RunGemm(mlps[expert].down[rank]);
    }
    ForEachRow(num_rows(), [&](int64_t row) {
      const int64_t count = items_per_row() * hidden;
      const std::span<float> sums(&sums_[row * count], count);
      uint16_t* partial = &partial_[(rank * num_rows() + row) * hidden];
      Record(row, layer, op, sums);
      model_.IsMoe() ? SumExperts(row, sums.data(), partial) : NarrowRow(sums, dtype_, partial);
    });
  }
}

void Decoder::MlpHalf(int32_t layer) {
  Norm(Op::kRmsNormPost, layer, weights_.layers[layer].norm_post);
  if (model_.IsMoe()) ChooseExperts(layer);
  GateUpAndProduct(layer);
  Down(layer);
  ReduceAndAdd(layer, Op::kAllReduceMlp);
}

}  // namespace batchvar
