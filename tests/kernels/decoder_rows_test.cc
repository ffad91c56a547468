// The forward pass on random models of all families: a row's bits are its own, whatever runs beside
// it, and its orders are those of its plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/decoder/checkpoint.h"
#include "kernels/decoder/decoder_tensors.h"
#include "kernels/decoder/float_decoder.h"
#include "sim/numerics/ordered_dot.h"
#include "tests/kernels/decoder_folder.h"
#include "tests/kernels/decoder_passes.h"
#include "tests/kernels/decoder_setup.h"

namespace batchvar {
namespace {

using testing::HasSubstr;

class DecoderRowsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { folder_.WriteRandomModel(SmallConfig(GetParam()), /*seed=*/7); }
  std::unique_ptr<LoadedModel> Load(int32_t threads = 1, int32_t tp = 1, Isa isa = BestIsa()) {
    return LoadOrDie(folder_.path(), DType::kBf16, FinePolicies(), threads, tp, isa);
  }
  TestFolder folder_;
};

// 64 requests with 1 to 40 positions behind them, each decoding one token, some of them under the
// plan of a large step, which cuts no GEMM, and some under that of a lonely one. One call, against
// one call each.
class SixtyFourRows {
 public:
  explicit SixtyFourRows(LoadedModel* model) : model_(model) {
    std::vector<AttentionRequest> requests;
    for (int64_t i = 0; i < kCount; ++i) {
      const int64_t length = 1 + (7 * i) % 40;
      caches_.emplace_back(model->weights.config.model);
      LogitsOf(model, &caches_.back(), Tokens(i, length), ChunkPlans(model, length, length),
               length);
      requests.push_back({1, length + 1});
    }
    const PlannedStep step = model->planner.Begin(4096, requests);
    for (int64_t i = 0; i < kCount; ++i) {
      const int64_t position = caches_[i].length();
      plans_.push_back(i % 3 == 0 ? model->AlonePlan(position, true)
                                  : model->planner.Row(step, i, position, true));
    }
    EXPECT_NE(plans_[0].Of(Op::kQkvProj).klass, plans_[1].Of(Op::kQkvProj).klass);
  }

  // Everything that the rows leave behind: results of every op, and the words of their positions.
  void RunTogether(std::vector<RowOutput>* outputs, std::vector<std::vector<uint16_t>>* words) {
    std::vector<KvCache> caches = caches_;
    std::vector<DecoderRow> rows;
    for (int64_t i = 0; i < kCount; ++i) rows.push_back(RowOf(i, &caches[i]));
    EXPECT_EQ(model_->decoder.Forward(rows, outputs), absl::OkStatus());
    for (const KvCache& cache : caches) words->push_back(cache.WordsOf(cache.length() - 1));
  }
  void RunOneByOne(std::vector<RowOutput>* outputs, std::vector<std::vector<uint16_t>>* words) {
    for (int64_t i = 0; i < kCount; ++i) {
      KvCache cache(model_->weights.config.model);
      cache.CopyPrefix(caches_[i], caches_[i].length());
      const DecoderRow row = RowOf(i, &cache);
      std::vector<RowOutput> output;
      EXPECT_EQ(model_->decoder.Forward({&row, 1}, &output), absl::OkStatus());
      outputs->push_back(std::move(output[0]));
      words->push_back(cache.WordsOf(cache.length() - 1));
    }
  }
  static constexpr int64_t kCount = 64;

 private:
  DecoderRow RowOf(int64_t i, KvCache* cache) const {
    return {Tokens(i, 100).back(), cache->length(), cache, &plans_[i], true, true};
  }
  LoadedModel* model_;
  std::vector<KvCache> caches_;
  std::vector<RowPlan> plans_;
};

void ExpectEqual(const std::vector<RowOutput>& a, const std::vector<RowOutput>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(Bits(a[i].logits), Bits(b[i].logits)) << i;
    ASSERT_EQ(a[i].records.size(), b[i].records.size());
    for (size_t op = 0; op < a[i].records.size(); ++op) {
      EXPECT_EQ(Bits(a[i].records[op].values), Bits(b[i].records[op].values)) << i << " " << op;
    }
    ASSERT_EQ(a[i].routes.size(), b[i].routes.size());
    for (size_t layer = 0; layer < a[i].routes.size(); ++layer) {
      EXPECT_EQ(a[i].routes[layer].experts, b[i].routes[layer].experts);
    }
  }
}

TEST_P(DecoderRowsTest, AllRowsTogetherEqualEachAlone) {
  std::vector<RowOutput> first;
  for (const int32_t tp : {1, 2}) {
    for (const int32_t threads : {1, 2}) {
      const auto model = Load(threads, tp);
      SixtyFourRows rows(model.get());
      std::vector<RowOutput> together, alone;
      std::vector<std::vector<uint16_t>> words_together, words_alone;
      rows.RunTogether(&together, &words_together);
      rows.RunOneByOne(&alone, &words_alone);
      ExpectEqual(together, alone);
      EXPECT_EQ(words_together, words_alone);
      if (threads == 1) first = together;
      ExpectEqual(together, first);  // threads change nothing
    }
  }
}

TEST_P(DecoderRowsTest, EveryInstructionSetGivesTheSameBits) {
  const std::vector<int64_t> tokens = Tokens(3, 24);
  std::vector<std::vector<float>> first;
  for (const Isa isa : kAllIsas) {
    if (!HasIsa(isa)) continue;
    const auto model = Load(1, 1, isa);
    KvCache cache(model->weights.config.model);
    const auto logits = LogitsOf(model.get(), &cache, tokens, ChunkPlans(model.get(), 24, 24), 24);
    if (first.empty()) first = logits;
    for (size_t i = 0; i < logits.size(); ++i) EXPECT_EQ(Bits(logits[i]), Bits(first[i])) << i;
  }
}

TEST_P(DecoderRowsTest, ChunksOfAnySizeEqualTokenByToken) {
  const auto model = Load();
  const std::vector<int64_t> tokens = Tokens(1, 37);
  const std::vector<RowPlan> plans = ChunkPlans(model.get(), 37, 40);
  KvCache whole(model->weights.config.model);
  const auto logits = LogitsOf(model.get(), &whole, tokens, plans, 37);
  for (const int64_t at_once : {1, 5, 16}) {
    KvCache cache(model->weights.config.model);
    const auto again = LogitsOf(model.get(), &cache, tokens, plans, at_once);
    for (size_t i = 0; i < logits.size(); ++i) EXPECT_EQ(Bits(again[i]), Bits(logits[i])) << i;
    for (int64_t p = 0; p < 37; ++p) EXPECT_EQ(cache.WordsOf(p), whole.WordsOf(p)) << p;
  }
}

// One row of a lonely step, with its records, under the orders of `plan`.
RowOutput FirstRow(LoadedModel* model, const RowPlan& plan) {
  KvCache cache(model->weights.config.model);
  const DecoderRow row = {9, 0, &cache, &plan, true, true};
  std::vector<RowOutput> outputs;
  EXPECT_EQ(model->decoder.Forward({&row, 1}, &outputs), absl::OkStatus());
  return std::move(outputs[0]);
}

// The same token alone and among 4095 others: its first GEMM is cut otherwise, and there the fp32
// bits part, not before.
TEST_P(DecoderRowsTest, AnotherPlanPartsAtItsFirstOtherOp) {
  const auto model = Load();
  const RowPlan alone = model->AlonePlan(0, true);
  const PlannedStep crowd = model->planner.Begin(4096, std::vector<AttentionRequest>(4096, {1, 1}));
  const RowPlan among = model->planner.Row(crowd, 0, 0, true);
  ASSERT_EQ(alone.Of(Op::kRmsNormIn).klass, among.Of(Op::kRmsNormIn).klass);
  ASSERT_NE(alone.Of(Op::kQkvProj).klass, among.Of(Op::kQkvProj).klass);
  ASSERT_NE(alone.Of(Op::kLmHead).klass, among.Of(Op::kLmHead).klass);
  const RowOutput a = FirstRow(model.get(), alone), b = FirstRow(model.get(), among);
  const Divergence divergence = ComparePasses(a.records, b.records, a.logits, b.logits);
  ASSERT_TRUE(divergence.first_op.has_value());
  EXPECT_EQ(divergence.ladder[*divergence.first_op].op, Op::kQkvProj);
  EXPECT_EQ(divergence.ladder[*divergence.first_op].layer, 0);
  EXPECT_GT(divergence.logits_changed, 0);
  EXPECT_LT(divergence.max_logit_distance, 0.5);
}

// Tensor parallelism cuts the same model: against the fp32 pass, whose weights nobody cuts.
TEST_P(DecoderRowsTest, AllRankCountsComputeTheSameModel) {
  FloatDecoder exact = FloatDecoder::Load(folder_.path()).value();
  const std::vector<int64_t> tokens = Tokens(5, 6);
  std::vector<float> expected;
  for (const int64_t token : tokens) expected = exact.Step(token).logits;
  for (const int32_t tp : {1, 2, 4}) {
    const auto model = Load(1, tp);
    KvCache cache(model->weights.config.model);
    const auto logits = LogitsOf(model.get(), &cache, tokens, ChunkPlans(model.get(), 6, 6), 6);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(logits.back()[i], expected[i], 0.25) << "tp " << tp << " token " << i;
    }
  }
}

TEST_P(DecoderRowsTest, RecordsEveryOpInOrder) {
  for (const int32_t tp : {1, 2}) {
    const auto model = Load(1, tp);
    const RowOutput output = FirstRow(model.get(), model->AlonePlan(0, true));
    std::vector<std::pair<int32_t, Op>> expected, recorded;
    const std::vector<OpShape> ops = StepOps(model->weights.config.model, tp);
    for (int32_t layer = 0; layer < 2; ++layer) {
      for (const OpShape& op : ops) {
        if (op.count == 2) expected.emplace_back(layer, op.op);
      }
    }
    expected.emplace_back(-1, Op::kFinalNorm);
    expected.emplace_back(-1, Op::kLmHead);
    for (const OpRecord& record : output.records) {
      recorded.emplace_back(record.layer, record.op);
      EXPECT_FALSE(record.values.empty());
    }
    EXPECT_EQ(recorded, expected);
    EXPECT_EQ(Bits(output.records.back().values), Bits(output.logits));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DecoderRowsTest,
                         testing::Values("LlamaForCausalLM", "Qwen3ForCausalLM",
                                         "MixtralForCausalLM", "Qwen3MoeForCausalLM"));

// The first GEMM, element by element, against the definition of its orders.
TEST(Decoder, ComputesWhatTheOrdersSay) {
  const TestFolder folder;
  folder.WriteRandomModel(SmallConfig("LlamaForCausalLM"), 3);
  const auto model = LoadOrDie(folder.path(), DType::kBf16);
  const RowPlan plan = model->AlonePlan(0, true);
  const std::vector<OpRecord> records = FirstRow(model.get(), plan).records;
  ASSERT_EQ(records[1].op, Op::kQkvProj);
  std::vector<uint16_t> x(64), weights;
  NarrowRow(records[0].values, DType::kBf16, x.data());
  const Checkpoint checkpoint = Checkpoint::Open(folder.path()).value();
  const LayerTensors tensors = TensorsOfLayer(model->weights.config, 0);
  for (const NamedTensor& tensor : {tensors.q, tensors.k, tensors.v}) {
    ASSERT_TRUE(checkpoint.AppendWords(tensor.name, tensor.shape, DType::kBf16, &weights).ok());
  }
  ASSERT_GT(plan.SingleOrder(Op::kQkvProj).pieces.size(), 1u);
  for (size_t column = 0; column < records[1].values.size(); ++column) {
    const float sum = OrderedDot(plan.SingleOrder(Op::kQkvProj),
                                 {DType::kBf16, x.data(), 1, &weights[column * 64], 1});
    EXPECT_EQ(std::bit_cast<uint32_t>(records[1].values[column]), std::bit_cast<uint32_t>(sum));
  }
}

TEST(Decoder, RefusesTokensAndPositionsOutsideTheModel) {
  const TestFolder folder;
  folder.WriteRandomModel(SmallConfig("LlamaForCausalLM"), 3);
  const auto model = LoadOrDie(folder.path(), DType::kBf16);
  KvCache cache(model->weights.config.model);
  const RowPlan plan = model->AlonePlan(0, true);
  std::vector<RowOutput> outputs;
  for (const int64_t token : {-1, 128}) {
    const DecoderRow row = {token, 0, &cache, &plan, true, false};
    const absl::Status status = model->decoder.Forward({&row, 1}, &outputs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("vocabulary of 128"));
  }
  EXPECT_EQ(cache.length(), 0);
  while (cache.length() < 256) cache.Grow();
  const DecoderRow row = {0, 256, &cache, &plan, true, false};
  EXPECT_THAT(std::string(model->decoder.Forward({&row, 1}, &outputs).message()),
              HasSubstr("max_position_embeddings 256"));
}

std::vector<int64_t> TokensOf(const std::vector<GreedyStep>& steps) {
  std::vector<int64_t> tokens;
  for (const GreedyStep& step : steps) tokens.push_back(step.token);
  return tokens;
}

TEST(Greedy, IsTheSameInAnyChunksAndStopsWhereItIsTold) {
  const TestFolder folder;
  folder.WriteRandomModel(SmallConfig("Qwen3ForCausalLM"), 11);
  const auto model = LoadOrDie(folder.path(), DType::kBf16);
  const std::vector<int64_t> prompt = Tokens(0, 9);
  GreedyOptions options;
  options.max_new_tokens = 12;
  const auto decode = [&] {
    return DecodeGreedily(&model->decoder, prompt, model->AlonePlans(), options).value();
  };
  const std::vector<int64_t> text = TokensOf(decode());
  ASSERT_EQ(text.size(), 12u);
  options.rows_per_call = 4;
  EXPECT_EQ(TokensOf(decode()), text);
  options.stop_token = text[5];
  const auto end = std::find(text.begin(), text.end(), text[5]) + 1;
  EXPECT_EQ(TokensOf(decode()), std::vector<int64_t>(text.begin(), end));
  options.logits = DType::kBf16;
  for (const GreedyStep& step : decode()) {
    EXPECT_EQ(step.top_two.top_logit, RoundTo(step.top_two.top_logit, DType::kBf16));
  }
  options.max_new_tokens = 1000;
  options.stop_token.reset();
  EXPECT_FALSE(DecodeGreedily(&model->decoder, prompt, model->AlonePlans(), options).ok());
}

TEST(Greedy, RoundsLogitsOnlyIfAsked) {
  std::vector<float> logits = {1.0009765625f, -3.1415927f};
  RoundLogits(DType::kFp32, logits);
  EXPECT_EQ(logits[1], -3.1415927f);
  RoundLogits(DType::kBf16, logits);
  EXPECT_EQ(logits[0], 1.0f);
  EXPECT_EQ(logits[1], -3.140625f);
}

TEST(ChooseRoute, TakesTheMostProbableAndTheLowerOnTies) {
  const std::vector<float> logits = {0.5f, 2.0f, 2.0f, -1.0f, 2.0f};
  const MoeRoute two = ChooseRoute(logits, 2, true);
  EXPECT_THAT(two.experts, testing::ElementsAre(1, 2));
  EXPECT_THAT(two.weights, testing::ElementsAre(0.5f, 0.5f));
  EXPECT_EQ(two.gap_to_next_expert, 0.0f);
  const MoeRoute four = ChooseRoute(logits, 4, false);
  EXPECT_THAT(four.experts, testing::ElementsAre(1, 2, 4, 0));
  EXPECT_LT(four.weights[0] + four.weights[1] + four.weights[2] + four.weights[3], 1.0f);
  EXPECT_GT(four.gap_to_next_expert, 0.0f);
  EXPECT_EQ(ChooseRoute(logits, 5, true).gap_to_next_expert, 1.0f);
}

}  // namespace
}  // namespace batchvar
