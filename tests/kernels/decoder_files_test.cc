// What a model's folder may hold: configurations, safetensors files and indexes, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/decoder/checkpoint.h"
#include "kernels/decoder/decoder_config.h"
#include "kernels/decoder/decoder_weights.h"
#include "nlohmann/json.hpp"
#include "sim/status/located_error.h"
#include "tests/kernels/decoder_folder.h"

namespace batchvar {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// The message of the error that reading SmallConfig with one change gives; "" if it loads.
std::string ConfigError(const std::string& family, const std::string& key, const Json& value) {
  const TestFolder folder;
  Json config = Json::parse(SmallConfig(family));
  config[key] = value;
  folder.Write("config.json", config.dump());
  const auto read = ReadDecoderConfig(folder.path());
  if (read.ok()) return "";
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LocationOf(read.status()).file, folder.Path("config.json"));
  return std::string(read.status().message());
}

TEST(DecoderConfig, RefusesVariantsThatItDoesNotCompute) {
  const std::string llama = "LlamaForCausalLM", moe = "Qwen3MoeForCausalLM";
  EXPECT_THAT(ConfigError(llama, "attention_bias", true), HasSubstr("attention_bias: is true"));
  EXPECT_THAT(ConfigError(llama, "sliding_window", 128), HasSubstr("sliding_window"));
  EXPECT_THAT(ConfigError(llama, "partial_rotary_factor", 0.5), HasSubstr("partial_rotary"));
  EXPECT_THAT(ConfigError(llama, "head_dim", 15), HasSubstr("head_dim"));
  EXPECT_THAT(ConfigError(llama, "rms_norm_eps", -1), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(ConfigError(llama, "hidden_act", "gelu"), HasSubstr("not one of \"silu\""));
  EXPECT_THAT(ConfigError(llama, "architectures", {"GPT2LMHeadModel"}),
              HasSubstr("LlamaForCausalLM, Qwen3ForCausalLM"));
  EXPECT_THAT(ConfigError(moe, "mlp_only_layers", {0}), HasSubstr("mlp_only_layers"));
  EXPECT_THAT(ConfigError(moe, "num_experts", 2000000000), HasSubstr("more than 4096"));
  EXPECT_THAT(ConfigError(moe, "num_experts_per_tok", 9), HasSubstr("there are 8 experts"));
  EXPECT_THAT(ConfigError(llama, "vocab_size", 1e300), HasSubstr("vocab_size"));
  EXPECT_EQ(ConfigError(llama, "attention_bias", false), "");
  EXPECT_EQ(ConfigError(moe, "decoder_sparse_step", 1), "");
}

TEST(DecoderConfig, ReadsBothForms) {
  const TestFolder folder;
  Json config = Json::parse(SmallConfig("LlamaForCausalLM"));
  config.erase("num_key_value_heads");
  config.erase("head_dim");
  folder.Write("config.json", config.dump());
  const DecoderConfig old_form = ReadDecoderConfig(folder.path()).value();
  EXPECT_EQ(old_form.model.kv_heads, 4);  // Llama's first files have no KV heads
  EXPECT_EQ(old_form.model.head_dim, 16);
  EXPECT_EQ(old_form.rope_theta, 10000.0);
  config.erase("rope_theta");
  config["rope_parameters"] = {{"rope_type", "llama3"},   {"rope_theta", 5e5},
                               {"factor", 8.0},           {"low_freq_factor", 1.0},
                               {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 64}};
  folder.Write("config.json", config.dump());
  const DecoderConfig new_form = ReadDecoderConfig(folder.path()).value();
  EXPECT_EQ(new_form.rope_theta, 5e5);
  ASSERT_TRUE(new_form.rope_scaling.has_value());
  EXPECT_EQ(new_form.rope_scaling->original_max_positions, 64);
}

TEST(DecoderConfig, Llama3ScalingKeepsFastPairsAndStretchesSlowOnes) {
  DecoderConfig config;
  config.model.head_dim = 32;
  config.rope_theta = 5e5;
  const std::vector<double> plain = InverseFrequencies(config);
  config.rope_scaling = RopeScaling{8.0, 1.0, 4.0, 64};
  const std::vector<double> scaled = InverseFrequencies(config);
  ASSERT_EQ(scaled.size(), 16u);
  int kept = 0, stretched = 0;
  for (size_t i = 0; i < scaled.size(); ++i) {
    const double turns = 64 * plain[i] / (2 * std::acos(-1.0));
    if (turns >= 4) {
      EXPECT_DOUBLE_EQ(scaled[i], plain[i]);
      ++kept;
    } else if (turns <= 1) {
      EXPECT_DOUBLE_EQ(scaled[i], plain[i] / 8);
      ++stretched;
    } else {
      EXPECT_GT(scaled[i], plain[i] / 8);
      EXPECT_LT(scaled[i], plain[i]);
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(stretched, 0);
}

// 1.0 and -2.5 in the three types that a weight may have.
TEST(Checkpoint, ReadsThreeTypes) {
  const TestFolder folder;
  folder.Write("model.safetensors",
               SafetensorsBytes({{"b", {"BF16", {2}, std::string("\x80\x3F\x20\xC0", 4)}},
                                 {"f", {"F32", {2, 1}, std::string("\0\0\x80\x3F\0\0\x20\xC0", 8)}},
                                 {"h", {"F16", {1, 2}, std::string("\0\x3C\0\xC1", 4)}}}));
  const Checkpoint checkpoint = Checkpoint::Open(folder.path()).value();
  std::vector<float> values;
  ASSERT_TRUE(checkpoint.Append("b", {2}, &values).ok());
  ASSERT_TRUE(checkpoint.Append("f", {2, 1}, &values).ok());
  ASSERT_TRUE(checkpoint.Append("h", {1, 2}, &values).ok());
  EXPECT_THAT(values, ElementsAre(1.0f, -2.5f, 1.0f, -2.5f, 1.0f, -2.5f));
  std::vector<uint16_t> words;
  ASSERT_TRUE(checkpoint.AppendWords("f", {2, 1}, DType::kBf16, &words).ok());
  ASSERT_TRUE(checkpoint.AppendWords("b", {2}, DType::kFp16, &words).ok());
  EXPECT_THAT(words, ElementsAre(0x3F80, 0xC020, 0x3C00, 0xC100));
}

TEST(Checkpoint, SaysWhenAWeightOverflowsFp16) {
  const TestFolder folder;
  folder.Write("model.safetensors",
               SafetensorsBytes({{"w", {"BF16", {1}, std::string("\x80\x47", 2)}}}));  // 65536
  const Checkpoint checkpoint = Checkpoint::Open(folder.path()).value();
  std::vector<uint16_t> words;
  EXPECT_THAT(checkpoint.AppendWords("w", {1}, DType::kFp16, &words).message(),
              HasSubstr("w: element 0 overflows fp16"));
}

// The message of opening a file with these bytes; "" if it opens.
std::string OpenError(const TestFolder& folder, const std::string& bytes) {
  folder.Write("model.safetensors", bytes);
  const auto opened = Checkpoint::Open(folder.path());
  return opened.ok() ? "" : std::string(opened.status().message());
}

std::string WithHeader(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + data;
}

TEST(Checkpoint, ChecksTheHeaderAgainstTheFile) {
  const TestFolder folder;
  const std::string good = R"("a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]})";
  EXPECT_EQ(OpenError(folder, WithHeader("{" + good + "}", "1234")), "");
  EXPECT_THAT(OpenError(folder, WithHeader("{" + good + "}", "12345")),
              HasSubstr("1 bytes behind the last tensor"));
  EXPECT_THAT(OpenError(folder, WithHeader("{" + good + "}", "123")),
              HasSubstr("a: its bytes end"));
  EXPECT_THAT(OpenError(folder, WithHeader("{" + good + "," + good + "}", "1234")),
              HasSubstr("a: the header has it twice"));
  EXPECT_THAT(
      OpenError(folder,
                WithHeader(R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[2,4]}})", "1234")),
      HasSubstr("a: its bytes begin at 2"));
  EXPECT_THAT(
      OpenError(folder,
                WithHeader(R"({"a":{"dtype":"F16","shape":[-1],"data_offsets":[0,4]}})", "1234")),
      HasSubstr("a: the header gives no shape"));
  EXPECT_THAT(OpenError(folder, WithHeader(R"({"a":{"shape":[1],"data_offsets":[0,2]}})", "12")),
              HasSubstr("a: the header gives no dtype"));
  EXPECT_THAT(OpenError(folder, WithHeader("[]", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(OpenError(folder, WithHeader(R"({"a\nb":{}})", "")), HasSubstr("not printable"));
}

TEST(DecoderWeights, AreCutForRanks) {
  const TestFolder folder;
  folder.WriteRandomModel(SmallConfig("LlamaForCausalLM"), 1);
  const DecoderWeights whole = LoadDecoderWeights(folder.path(), DType::kBf16, 1).value();
  const DecoderWeights cut = LoadDecoderWeights(folder.path(), DType::kBf16, 4).value();
  EXPECT_EQ(whole.layers[0].qkv[0].n(), (4 + 2 + 2) * 16);
  ASSERT_EQ(cut.layers[0].qkv.size(), 4u);
  EXPECT_EQ(cut.layers[0].qkv[0].n(), (1 + 1 + 1) * 16);  // KV heads are copied
  EXPECT_EQ(cut.layers[0].o[3].k(), 16);
  EXPECT_EQ(cut.layers[0].mlps[0].down[0].k(), 24);
  EXPECT_EQ(cut.head[0].n(), 32);
  const auto three = LoadDecoderWeights(folder.path(), DType::kBf16, 3);
  EXPECT_EQ(three.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(three.status().message()), HasSubstr("tp 3"));
}

}  // namespace
}  // namespace batchvar
