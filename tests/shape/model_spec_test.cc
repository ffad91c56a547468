#include "sim/shape/model_spec.h"

#include <gtest/gtest.h>

#include "tests/shape/models.h"

namespace batchvar {
namespace {

// The exact counts of the published checkpoints.
TEST(ModelSpec, CountsParametersOfCheckpoints) {
  EXPECT_EQ(NumParameters(Llama3_8b()), 8'030'261'248);
  EXPECT_EQ(NumParameters(Qwen3_0_6b()), 596'049'920);
  EXPECT_EQ(NumParameters(Smollm2_135m()), 134'515'008);
  EXPECT_EQ(NumParameters(Qwen3_30b_a3b()), 30'532'122'624);
}

TEST(ModelSpec, DenseModelsTouchAllParameters) {
  EXPECT_EQ(NumActiveParameters(Llama3_8b()), NumParameters(Llama3_8b()));
  EXPECT_EQ(NumActiveParameters(Qwen3_0_6b()), NumParameters(Qwen3_0_6b()));
}

TEST(ModelSpec, MoeModelsTouchTheRoutedExpertsOnly) {
  const ModelSpec model = Qwen3_30b_a3b();
  const int64_t idle_experts = model.num_experts - model.experts_per_token;
  const int64_t expert = 3 * int64_t{model.hidden_size} * model.moe_intermediate_size;
  EXPECT_EQ(NumParameters(model) - NumActiveParameters(model),
            model.layers * idle_experts * expert);
  EXPECT_NEAR(static_cast<double>(NumActiveParameters(model)), 3.3e9, 0.1e9);  // the model card's
}

TEST(ModelSpec, TiedEmbeddingsCountOnce) {
  ModelSpec model = Qwen3_0_6b();
  const int64_t tied = NumParameters(model);
  model.tied_embeddings = false;
  EXPECT_EQ(NumParameters(model) - tied, int64_t{model.vocab_size} * model.hidden_size);
}

}  // namespace
}  // namespace batchvar
