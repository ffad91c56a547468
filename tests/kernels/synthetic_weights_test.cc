// Weights made from a seed: a function of seed and name alone, with the head that they promise, and
// refused before they are made where memory does not hold them.
#include "kernels/decoder/synthetic_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/decoder/greedy.h"
#include "sim/numerics/float_bits.h"
#include "sim/shape/model_spec.h"
#include "tests/kernels/decoder_setup.h"

namespace batchvar {
namespace {

ModelSpec SmallModel() {
  ModelSpec model;
  model.name = "small";
  model.layers = 2;
  model.hidden_size = 128;
  model.intermediate_size = 256;
  model.q_heads = 4;
  model.kv_heads = 2;
  model.head_dim = 32;
  model.vocab_size = 512;
  model.max_positions = 256;
  return model;
}

DecoderWeights Make(const ModelSpec& model, const SyntheticSpec& spec, int32_t threads = 1,
                    int32_t tp = 1) {
  WorkerPool pool(threads);
  auto weights = MakeSyntheticWeights(model, spec, DType::kBf16, tp, &pool);
  EXPECT_TRUE(weights.ok()) << weights.status();
  return *std::move(weights);
}

std::vector<uint16_t> PanelsOf(const PackedMatrix& matrix) {
  return {matrix.Panel(0), matrix.Panel(0) + matrix.num_panels() * matrix.PanelWords()};
}

TEST(SyntheticWeights, DependOnTheSeedAndOnNothingElse) {
  const DecoderWeights one = Make(SmallModel(), {});
  const DecoderWeights again = Make(SmallModel(), {}, /*threads=*/3);
  EXPECT_EQ(one.embedding, again.embedding);
  EXPECT_EQ(PanelsOf(one.head[0]), PanelsOf(again.head[0]));
  EXPECT_EQ(PanelsOf(one.layers[1].mlps[0].down[0]), PanelsOf(again.layers[1].mlps[0].down[0]));
  EXPECT_NE(PanelsOf(one.layers[0].o[0]), PanelsOf(one.layers[1].o[0]));
  const DecoderWeights other = Make(SmallModel(), {.seed = 7});
  EXPECT_NE(one.embedding, other.embedding);
}

TEST(SyntheticWeights, ElementsHaveUnitVariance) {
  const DecoderWeights weights = Make(SmallModel(), {});
  double sum = 0, squares = 0;
  for (const uint16_t word : weights.embedding) {
    const double value = Widen(word, DType::kBf16);
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(weights.embedding.size());
  EXPECT_NEAR(sum / count, 0.0, 0.02);
  EXPECT_NEAR(squares / count, 1.0, 0.02);
}

// Without noise a row of the head is a multiple of one token's embedding: every token has one
// successor, and one cycle goes through all of them.
TEST(SyntheticWeights, TheHeadPlantsOneCycle) {
  WorkerPool pool(1);
  const SyntheticSpec spec = {.seed = 42, .alpha = 1.0, .beta = 1e-6};
  const DecoderConfig config = *SyntheticConfig(SmallModel());
  const auto embedding =
      SyntheticTensor(config, spec, EmbeddingTensor(config), DType::kBf16, &pool);
  const auto head = SyntheticTensor(config, spec, HeadTensor(config), DType::kBf16, &pool);
  constexpr int64_t kTokens = 512, kWidth = 128;
  std::vector<int64_t> successor(kTokens, -1);
  for (int64_t row = 0; row < kTokens; ++row) {
    int64_t of = -1;
    double best = 0;
    for (int64_t token = 0; token < kTokens; ++token) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < kWidth; ++i) {
        const double value = Widen(embedding[token * kWidth + i], DType::kBf16);
        sum += value * Widen(head[row * kWidth + i], DType::kBf16);
        squares += value * value;
      }
      if (sum / std::sqrt(squares) > best) of = token;
      best = std::max(best, sum / std::sqrt(squares));
    }
    ASSERT_GE(of, 0);
    EXPECT_EQ(successor[of], -1) << "two rows say what follows " << of;
    successor[of] = row;
  }
  int64_t length = 1;
  for (int64_t token = successor[0]; token != 0 && length < 2 * kTokens; ++length) {
    token = successor[token];
  }
  EXPECT_EQ(length, kTokens);
}

TEST(SyntheticWeights, FamiliesFollowTheModel) {
  ModelSpec model = SmallModel();
  EXPECT_EQ(SyntheticConfig(model)->family, DecoderFamily::kLlama);
  model.qk_norm = true;
  model.tied_embeddings = true;
  EXPECT_EQ(SyntheticConfig(model)->family, DecoderFamily::kQwen3);
  EXPECT_FALSE(SyntheticConfig(model)->model.tied_embeddings);
  model.num_experts = 4;
  model.experts_per_token = 2;
  model.moe_intermediate_size = 64;
  EXPECT_EQ(SyntheticConfig(model)->family, DecoderFamily::kQwen3Moe);
  const DecoderWeights weights = Make(model, {}, 1, /*tp=*/2);
  EXPECT_EQ(weights.layers[0].mlps.size(), 4U);
  EXPECT_EQ(weights.head.size(), 2U);
  model.head_dim = 31;
  EXPECT_FALSE(SyntheticConfig(model).ok());
}

TEST(SyntheticWeights, AModelThatMemoryDoesNotHoldIsRefused) {
  ModelSpec model = SmallModel();
  const int64_t needed = SyntheticWeightBytes(model);
  EXPECT_GT(needed, 2 * NumParameters(model));
  EXPECT_TRUE(CheckWeightsFit(model, needed).ok());
  const absl::Status status = CheckWeightsFit(model, needed - 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("'small'"), std::string::npos);
  EXPECT_GT(MachineMemoryBytes(), 1 << 20);
  model.layers = 10'000;
  model.hidden_size = 1 << 17;
  model.intermediate_size = 1 << 20;
  WorkerPool pool(1);
  EXPECT_FALSE(MakeSyntheticWeights(model, {}, DType::kBf16, 1, &pool).ok());
}

// Margins of a trained model: 5 % below 0.125 and a median of 2, give or take what few texts allow.
TEST(SyntheticWeights, MarginsLookLikeATrainedModels) {
  int64_t near = 0, below_two = 0, tokens = 0;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    LoadedModel model(Make(SmallModel(), {.seed = seed}), FinePolicies(), 2, BestIsa());
    for (int64_t first = 0; first < 4; ++first) {
      const std::vector<int64_t> prompt = {first * 100 + 3, 17, 300};
      GreedyOptions options;
      options.max_new_tokens = 80;
      const auto steps = DecodeGreedily(&model.decoder, prompt, model.AlonePlans(), options);
      ASSERT_TRUE(steps.ok()) << steps.status();
      for (const GreedyStep& step : *steps) {
        near += step.top_two.Margin() < 0.125F ? 1 : 0;
        below_two += step.top_two.Margin() < 2.0F ? 1 : 0;
        ++tokens;
      }
    }
  }
  const auto count = static_cast<double>(tokens);
  EXPECT_GT(static_cast<double>(near) / count, 0.02);
  EXPECT_LT(static_cast<double>(near) / count, 0.10);
  EXPECT_GT(static_cast<double>(below_two) / count, 0.35);
  EXPECT_LT(static_cast<double>(below_two) / count, 0.65);
}

}  // namespace
}  // namespace batchvar
