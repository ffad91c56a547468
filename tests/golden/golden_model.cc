// The forward pass against float64 logits and greedy texts of real and of tiny models
// (reference/model), in fp32 and in 16 bits, and what becomes of broken model folders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/decoder/float_decoder.h"
#include "nlohmann/json.hpp"
#include "sim/divergence/near_tie.h"
#include "tests/kernels/decoder_setup.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

using Json = nlohmann::json;

// A model with goldens, and what 16-bit activations may add to float64 logits. `max_logit` and
// `mean_logit` bound |dlogit| along an unchanged route; `noise` is the margin from which on the
// token must be the golden one: two logits may each move. `route_noise` is the same for
// gap_to_next_expert. Fp32 has one bound for all: kFloatBound.
struct GoldenModel {
  const char* name;
  std::string folder;
  std::string golden;
  DType dtype = DType::kBf16;
  double max_logit = 0;
  double mean_logit = 0;
  double noise = 0;
  double route_noise = 0;
};

void PrintTo(const GoldenModel& model, std::ostream* out) { *out << model.name; }

constexpr double kFloatBound = 1e-3;

std::vector<GoldenModel> Models() {
  const auto tiny = [](const char* name) { return ModelsPath(std::string("tiny/") + name); };
  const auto golden = [](const char* name) {
    return ReferencePath(std::string("model/tiny/") + name + ".json");
  };
  const std::string stories = ModelsPath("stories260K");
  const std::string stories_golden = ReferencePath("model/stories260K-golden.json");
  const std::string smollm2 = ModelsPath("smollm2-135m");
  const std::string smollm2_golden = ReferencePath("model/smollm2-135m-golden.json");
  const DType bf16 = DType::kBf16, fp16 = DType::kFp16;
  return {
      {"stories_bf16", stories, stories_golden, bf16, 0.3, 0.06, 0.3, 0},
      {"stories_fp16", stories, stories_golden, fp16, 0.04, 0.01, 0.04, 0},
      {"llama_tiny", tiny("llama_tiny"), golden("llama_tiny"), bf16, 0.6, 0.12, 0.6, 0},
      {"qwen3_tiny", tiny("qwen3_tiny"), golden("qwen3_tiny"), bf16, 0.6, 0.12, 0.6, 0},
      {"mixtral_tiny", tiny("mixtral_tiny"), golden("mixtral_tiny"), bf16, 0.8, 0.12, 0.8, 0.02},
      {"llama_tiny_sharded", tiny("llama_tiny_sharded"), golden("llama_tiny_sharded"), fp16, 0.1,
       0.02, 0.1, 0},
      {"qwen3_moe_tiny", tiny("qwen3_moe_tiny"), golden("qwen3_moe_tiny"), bf16, 0.6, 0.12, 0.6,
       0.02},
      {"smollm2", smollm2, smollm2_golden, bf16, 2.0, 0.4, 1.0, 0},
  };
}

class GoldenModelTest : public testing::TestWithParam<GoldenModel> {
 protected:
  void SetUp() override {
    BATCHVAR_SKIP_WITHOUT(GetParam().folder);
    BATCHVAR_SKIP_WITHOUT(GetParam().golden);
    golden_ = Json::parse(ReadFileOrDie(GetParam().golden));
    ASSERT_FALSE(golden_["cases"].empty());
  }
  Json golden_;
};

// Prompt and golden answer but its last token: what both passes are fed.
std::vector<int64_t> FedTokens(const Json& item) {
  auto tokens = item["prompt_ids"].get<std::vector<int64_t>>();
  const auto answer = item["greedy_ids"].get<std::vector<int64_t>>();
  tokens.insert(tokens.end(), answer.begin(), answer.end() - 1);
  return tokens;
}

// What a pass is compared by: logits and routes at every position that it was fed.
struct Pass {
  std::vector<std::vector<float>> logits;
  std::vector<std::vector<MoeRoute>> routes;
};

// The golden experts and gap of every layer at a prompt position.
struct GoldenRoute {
  std::vector<int32_t> experts;
  double gap = 0;
};
std::vector<GoldenRoute> RoutesAt(const Json& item, int64_t position) {
  std::vector<GoldenRoute> routes;
  if (!item.contains("router_all_prompt_positions")) return routes;
  for (const Json& layer : item["router_all_prompt_positions"]) {
    if (position >= std::ssize(layer["expert_ids"])) return {};
    routes.push_back({layer["expert_ids"][position].get<std::vector<int32_t>>(),
                      layer["gap_to_next_expert"][position].get<double>()});
  }
  return routes;
}

// The largest and the mean difference from the golden's listed logits.
struct LogitDistance {
  double largest = 0;
  double sum = 0;
  int64_t count = 0;
  void Add(double ours, double theirs) {
    largest = std::max(largest, std::fabs(ours - theirs));
    sum += std::fabs(ours - theirs);
    ++count;
  }
  double Mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

// Compares the positions that are `comparable`.
LogitDistance CompareLogits(const Json& item, const Pass& pass,
                            const std::vector<bool>& comparable) {
  LogitDistance distance;
  for (const Json& top : item["prompt_logits_top20"]) {
    const auto position = top["position"].get<int64_t>();
    if (!comparable[position]) continue;
    for (size_t i = 0; i < top["ids"].size(); ++i) {
      distance.Add(pass.logits[position][top["ids"][i].get<int64_t>()], top["logits"][i]);
    }
  }
  const int64_t last = std::ssize(item["prompt_ids"]) - 1;
  if (item.contains("last_position_logits") && comparable[last]) {
    for (size_t i = 0; i < item["last_position_logits"].size(); ++i) {
      distance.Add(pass.logits[last][i], item["last_position_logits"][i]);
    }
  }
  if (item.contains("all_logits_position0")) {
    for (size_t i = 0; i < item["all_logits_position0"].size(); ++i) {
      distance.Add(pass.logits[0][i], item["all_logits_position0"][i]);
    }
  }
  return distance;
}

TEST_P(GoldenModelTest, Float32EqualsFloat64) {
  absl::StatusOr<FloatDecoder> decoder = FloatDecoder::Load(GetParam().folder);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  LogitDistance distance;
  int64_t routes = 0;
  for (const Json& item : golden_["cases"]) {
    decoder->Reset();
    Pass pass;
    std::vector<int64_t> tokens = item["prompt_ids"];
    const int64_t prompt = std::ssize(tokens);
    const auto answer = item["greedy_ids"].get<std::vector<int64_t>>();
    for (int64_t i = 0; i < prompt + std::ssize(answer) - 1; ++i) {
      const FloatDecoder::Output output = decoder->Step(tokens[i]);
      const std::vector<GoldenRoute> golden = RoutesAt(item, i);
      for (size_t layer = 0; layer < golden.size(); ++layer, ++routes) {
        EXPECT_EQ(output.routes[layer].experts, golden[layer].experts) << i << " " << layer;
        EXPECT_NEAR(output.routes[layer].gap_to_next_expert, golden[layer].gap, kFloatBound);
      }
      pass.logits.push_back(output.logits);
      if (i + 1 < prompt) continue;
      const TopTwo top = FindTopTwo(output.logits);
      const int64_t step = i + 1 - prompt;
      EXPECT_NEAR(top.top_logit, item["greedy_top1_logit"][step].get<double>(), kFloatBound);
      tokens.push_back(top.top);
    }
    EXPECT_EQ(std::vector<int64_t>(tokens.begin() + prompt, tokens.end()), answer);
    const LogitDistance one = CompareLogits(item, pass, std::vector<bool>(tokens.size(), true));
    EXPECT_GT(one.count, 0);
    EXPECT_LE(one.largest, kFloatBound);
    distance.largest = std::max(distance.largest, one.largest);
  }
  std::printf("%s float32: largest |dlogit| %.2g, %lld routes equal\n", GetParam().name,
              distance.largest, static_cast<long long>(routes));
}

// Teacher-forced: the golden's tokens in one pass, every row under the plan that it would have
// alone.
Pass RunTeacherForced(LoadedModel* model, const std::vector<int64_t>& tokens) {
  KvCache cache(model->weights.config.model);
  std::vector<RowPlan> plans;
  for (int64_t i = 0; i < std::ssize(tokens); ++i) plans.push_back(model->AlonePlan(i, true));
  std::vector<DecoderRow> rows;
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    rows.push_back({tokens[i], i, &cache, &plans[i], true, false});
  }
  std::vector<RowOutput> outputs;
  EXPECT_EQ(model->decoder.Forward(rows, &outputs), absl::OkStatus());
  Pass pass;
  for (RowOutput& output : outputs) {
    pass.logits.push_back(std::move(output.logits));
    pass.routes.push_back(std::move(output.routes));
  }
  return pass;
}

struct Counts {
  int64_t tokens = 0;
  int64_t other_tokens = 0;
  double other_margin = 0;  // the largest golden margin that still changed its token
  int64_t routes = 0;
  int64_t other_routes = 0;
};

std::vector<int32_t> Sorted(std::vector<int32_t> experts) {
  std::sort(experts.begin(), experts.end());
  return experts;
}

// Compares with the routes in fp32, which equal the goldens wherever those state them
// (Float32EqualsFloat64). Returns for every position whether rounding alone lies between its logits
// and the golden's: a changed route moves its own position, and through the keys and values of the
// layers above it all later ones.
std::vector<bool> CompareRoutes(const GoldenModel& model, const std::vector<int64_t>& tokens,
                                const Pass& pass, Counts* counts) {
  std::vector<bool> comparable(tokens.size(), true);
  if (pass.routes[0].empty()) return comparable;
  absl::StatusOr<FloatDecoder> decoder = FloatDecoder::Load(model.folder);
  EXPECT_TRUE(decoder.ok());
  const size_t layers = pass.routes[0].size();
  size_t changed_layer = layers;  // the lowest one with another route so far
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    const std::vector<MoeRoute> exact = decoder->Step(tokens[i]).routes;
    for (size_t layer = 0; layer < exact.size(); ++layer) {
      ++counts->routes;
      if (Sorted(pass.routes[i][layer].experts) == Sorted(exact[layer].experts)) continue;
      ++counts->other_routes;
      comparable[i] = false;
      std::printf("%s: another route at position %lld, layer %zu: gap_to_next_expert %.4f\n",
                  model.name, static_cast<long long>(i), layer, exact[layer].gap_to_next_expert);
      // Above a changed route the values are others, by a jump: their gaps say nothing.
      if (changed_layer >= layer) {
        EXPECT_LE(exact[layer].gap_to_next_expert, model.route_noise) << i;
      }
      changed_layer = std::min(changed_layer, layer);
    }
    if (changed_layer + 1 < layers) comparable[i] = false;
  }
  return comparable;
}

void CompareTokens(const GoldenModel& model, const Json& item, const Pass& pass,
                   const std::vector<bool>& comparable, Counts* counts) {
  const int64_t prompt = std::ssize(item["prompt_ids"]);
  for (int64_t step = 0; step < std::ssize(item["greedy_ids"]); ++step) {
    if (!comparable[prompt - 1 + step]) continue;
    ++counts->tokens;
    const TopTwo top = FindTopTwo(pass.logits[prompt - 1 + step]);
    if (top.top == item["greedy_ids"][step]) continue;
    ++counts->other_tokens;
    const auto margin = item["greedy_margin_top1_top2"][step].get<double>();
    counts->other_margin = std::max(counts->other_margin, margin);
    EXPECT_LE(margin, model.noise) << model.name << " step " << step;
  }
}

TEST_P(GoldenModelTest, SixteenBitsWithinNoise) {
  const GoldenModel& model = GetParam();
  const auto loaded = LoadOrDie(model.folder, model.dtype);
  LogitDistance distance;
  Counts counts;
  for (const Json& item : golden_["cases"]) {
    const std::vector<int64_t> tokens = FedTokens(item);
    const Pass pass = RunTeacherForced(loaded.get(), tokens);
    const std::vector<bool> comparable = CompareRoutes(model, tokens, pass, &counts);
    const LogitDistance one = CompareLogits(item, pass, comparable);
    distance.largest = std::max(distance.largest, one.largest);
    distance.sum += one.sum;
    distance.count += one.count;
    CompareTokens(model, item, pass, comparable, &counts);
  }
  std::printf(
      "%s %s: |dlogit| largest %.3f, mean %.4f; other tokens %lld of %lld, margins up to %.3f; "
      "other routes %lld of %lld\n",
      model.name, DTypeName(model.dtype), distance.largest, distance.Mean(),
      static_cast<long long>(counts.other_tokens), static_cast<long long>(counts.tokens),
      counts.other_margin, static_cast<long long>(counts.other_routes),
      static_cast<long long>(counts.routes));
  EXPECT_GT(distance.count, 0);
  EXPECT_GT(counts.tokens, 0);
  EXPECT_LE(distance.largest, model.max_logit);
  EXPECT_LE(distance.Mean(), model.mean_logit);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenModelTest, testing::ValuesIn(Models()),
                         [](const auto& model) { return std::string(model.param.name); });

}  // namespace
}  // namespace batchvar
