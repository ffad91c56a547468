#include "sim/shape/op_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/shape/models.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Names(const std::vector<OpShape>& ops) {
  std::vector<std::string> names;
  for (const OpShape& shape : ops) names.emplace_back(OpName(shape.op));
  return names;
}

const OpShape& Find(const std::vector<OpShape>& ops, Op op) {
  for (const OpShape& shape : ops) {
    if (shape.op == op) return shape;
  }
  ADD_FAILURE() << "no " << OpName(op);
  return ops.front();
}

TEST(StepOps, DenseLayerInOrder) {
  EXPECT_THAT(
      Names(StepOps(Llama3_8b(), 1)),
      ElementsAre("rms_norm_in", "qkv_proj", "attention", "o_proj", "rms_norm_post", "gate_up_proj",
                  "down_proj", "final_norm", "lm_head", "softmax_or_argmax"));
}

TEST(StepOps, TensorParallelismAddsAllReduces) {
  const auto ops = StepOps(Llama3_8b(), 2);
  EXPECT_THAT(Names(ops),
              ElementsAre("rms_norm_in", "qkv_proj", "attention", "o_proj", "allreduce_attention",
                          "rms_norm_post", "gate_up_proj", "down_proj", "allreduce_mlp",
                          "final_norm", "lm_head", "softmax_or_argmax"));
  EXPECT_EQ(Find(ops, Op::kAllReduceMlp).allreduce_bytes_per_token, 8192);
  EXPECT_EQ(Find(ops, Op::kAllReduceMlp).count, 32);
  EXPECT_EQ(Find(ops, Op::kOProj).k, 2048);  // tp itself changes the sum
  EXPECT_EQ(Find(ops, Op::kDownProj).k, 7168);
}

TEST(StepOps, QkNormRunsOnEveryHead) {
  const auto ops = StepOps(Qwen3_0_6b(), 1);
  EXPECT_EQ(Find(ops, Op::kQNorm).rows_per_token, 16);
  EXPECT_EQ(Find(ops, Op::kKNorm).rows_per_token, 8);
  EXPECT_EQ(Find(ops, Op::kQNorm).k, 128);
  EXPECT_EQ(RowsFor(Find(ops, Op::kQNorm), 40, 3), 640);
}

TEST(StepOps, KvHeadsAreCopiedBeyondTheirNumber) {
  ModelSpec model = Llama3_8b();
  const auto ops = StepOps(model, 16);
  EXPECT_EQ(Find(ops, Op::kAttention).q_heads, 2);
  EXPECT_EQ(Find(ops, Op::kAttention).kv_heads, 1);
  EXPECT_EQ(Find(ops, Op::kQkvProj).n, (2 + 2) * 128);
}

TEST(StepOps, MoeLayer) {
  const auto ops = StepOps(Qwen3_30b_a3b(), 4);
  EXPECT_THAT(Names(ops), ElementsAre("rms_norm_in", "qkv_proj", "q_norm", "k_norm", "attention",
                                      "o_proj", "allreduce_attention", "rms_norm_post", "router",
                                      "moe_gate_up", "moe_down", "allreduce_mlp", "final_norm",
                                      "lm_head", "softmax_or_argmax"));
  EXPECT_EQ(Find(ops, Op::kRouter).n, 128);
  EXPECT_EQ(Find(ops, Op::kRouter).k, 2048);
  EXPECT_EQ(Find(ops, Op::kMoeGateUp).n, 384);
  EXPECT_EQ(Find(ops, Op::kMoeDown).k, 192);
  EXPECT_EQ(RowsFor(Find(ops, Op::kMoeDown), 10, 1), 80);
}

TEST(StepOps, TheHeadSeesRequestsAndAPaddedVocabulary) {
  ModelSpec model = Llama3_8b();
  model.vocab_size = 50257;
  const auto ops = StepOps(model, 1);
  EXPECT_EQ(Find(ops, Op::kLmHead).n, 50304);
  EXPECT_EQ(Find(ops, Op::kArgmax).k, 50257);
  EXPECT_EQ(RowsFor(Find(ops, Op::kLmHead), 512, 7), 7);
  EXPECT_EQ(RowsFor(Find(ops, Op::kQkvProj), 512, 7), 512);
}

TEST(ValidateTp, NamesWhatDoesNotDivide) {
  EXPECT_EQ(ValidateTp(Llama3_8b(), 8), nullptr);
  EXPECT_EQ(ValidateTp(Smollm2_135m(), 3), nullptr);
  EXPECT_THAT(ValidateTp(Smollm2_135m(), 2), HasSubstr("q_heads"));
  EXPECT_THAT(ValidateTp(Llama3_8b(), 0), HasSubstr("at least 1"));
  ModelSpec model = Llama3_8b();
  model.intermediate_size = 14337;
  EXPECT_THAT(ValidateTp(model, 2), HasSubstr("intermediate_size"));
  model = Llama3_8b();
  model.kv_heads = 6;
  EXPECT_THAT(ValidateTp(model, 4), HasSubstr("kv_heads"));
}

TEST(OpName, EveryOpHasAKind) {
  EXPECT_EQ(KindOf(Op::kRouter), OpKind::kGemm);
  EXPECT_EQ(KindOf(Op::kMoeDown), OpKind::kMoe);
  EXPECT_EQ(KindOf(Op::kFinalNorm), OpKind::kNorm);
  EXPECT_EQ(KindOf(Op::kArgmax), OpKind::kRowwise);
  EXPECT_EQ(KindOf(Op::kAllReduceMlp), OpKind::kAllReduce);
  EXPECT_EQ(KindOf(Op::kAttention), OpKind::kAttention);
}

}  // namespace
}  // namespace batchvar
