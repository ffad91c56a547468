#include "sim/io/experiment_file.h"

#include <gtest/gtest.h>

#include "tests/io/temp_file.h"

namespace batchvar {
namespace {

ExperimentResult Sample() {
  ExperimentResult result;
  result.model = "tiny";
  result.plan_model = "qwen3_8b";
  result.dtype = "bf16";
  result.logits = "fp32";
  result.seed = 42;
  result.prompt_tokens = 7;
  result.prompt_digest = DigestOf("prompt");
  result.max_tokens = 2;
  result.verdict = "one arm supports a story";
  ArmResult& arm = result.arms.emplace_back();
  arm.name = "load";
  arm.against = "alone";
  arm.fillers = 63;
  arm.device = "h100_sxm";
  arm.tp = 2;
  arm.policies = "textbook/fa3";
  arm.rows_needed = 9;
  arm.rows_computed = 5;
  arm.texts = {{1, 2}, {1, 3}, {1, 2}};
  for (const auto& text : arm.texts) {
    arm.decisions.push_back({{text[0], -1, 0.5f, 0.0f}, {text[1], -1, 0.25f, 0.0f}});
    arm.met.push_back({2, 40, 64, 16, 1});
  }
  TextDivergence& divergence = arm.divergences.emplace_back();
  divergence.trial = 1;
  divergence.position = 1;
  divergence.token_a = 2;
  divergence.token_b = 3;
  divergence.margin = 0.25f;
  divergence.logits = {true, 0.125, 3};
  divergence.row = 4;
  divergence.first_op = Op::kOProj;
  divergence.a = {1, 1, {{0, 64}}, "none", 128, false, Arithmetic::kMmaSm80, DigestOf("a")};
  divergence.b = {64, 64,   {{0, 32}, {32, 64}},  "serial_fp32",
                  64, true, Arithmetic::kMmaSm90, DigestOf("b")};
  divergence.bits_differ = true;
  divergence.bits_layer = 3;
  divergence.bits_op = Op::kAttention;
  divergence.bits_max_ulp = 17;
  arm.noise = {{0.5f, -0.25f}, {0.5f, 0.25f}};
  return result;
}

TEST(ExperimentFile, ReadsBackWhatItWrites) {
  const ExperimentResult sample = Sample();
  const TempFile file(ExperimentBytes(sample, "batchvar test"), ".binpb");
  const auto read = ReadExperimentFile(file.path());
  ASSERT_TRUE(read.ok()) << read.status();
  // All that is written comes back, so writing it again gives the same bytes.
  EXPECT_EQ(ExperimentBytes(*read, "batchvar test"), ExperimentBytes(sample, "batchvar test"));
  ASSERT_EQ(read->arms.size(), 1u);
  const ArmResult& arm = read->arms[0];
  EXPECT_EQ(arm.distinct, 2);
  EXPECT_EQ(arm.top, 2);
  EXPECT_EQ(arm.differ, 1);
  EXPECT_EQ(arm.texts, sample.arms[0].texts);
  EXPECT_EQ(arm.decisions[1][1].Margin(), 0.25f);
  EXPECT_EQ(arm.met[2].cached_tokens, 16);
  const TextDivergence& divergence = arm.divergences[0];
  EXPECT_EQ(divergence.first_op, Op::kOProj);
  EXPECT_EQ(divergence.b.pieces, (std::vector<Range>{{0, 32}, {32, 64}}));
  EXPECT_EQ(divergence.b.klass, DigestOf("b"));
  EXPECT_EQ(divergence.bits_op, Op::kAttention);
  EXPECT_EQ(divergence.logits.max_ulp, 3u);
}

TEST(ExperimentFile, WithoutAnotherOrderNothingIsSaidOfOne) {
  ExperimentResult sample = Sample();
  sample.arms[0].divergences[0].row = -1;
  sample.arms[0].divergences[0].logits = {};
  const TempFile file(ExperimentBytes(sample, "x"), ".binpb");
  const auto read = ReadExperimentFile(file.path());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->arms[0].divergences[0].row, -1);
  EXPECT_FALSE(read->arms[0].divergences[0].logits.known);
}

TEST(ExperimentFile, OtherFilesAreRefused) {
  const TempFile text("{\"kind\":\"experiment\"}\n", ".json");
  for (const std::string& path : {text.path(), std::string("/no/such/experiment.binpb")}) {
    const auto read = ReadExperimentFile(path);
    ASSERT_FALSE(read.ok());
    EXPECT_NE(read.status().message().find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace batchvar
