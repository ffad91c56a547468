#include "tests/kernels/decoder_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/decoder/decoder_config.h"
#include "kernels/decoder/decoder_tensors.h"
#include "nlohmann/json.hpp"
#include "sim/base/check.h"
#include "sim/base/rng.h"
#include "sim/numerics/float_bits.h"

namespace batchvar {
namespace {

// Normal numbers of deviation 1.5 / sqrt(inputs) for matrices, around 1 for norms.
TestTensor RandomTensor(const NamedTensor& tensor, uint64_t seed) {
  RandomStream stream(seed, tensor.name);
  TestTensor result;
  result.shape = {tensor.shape.rows};
  if (tensor.shape.columns > 0) result.shape.push_back(tensor.shape.columns);
  const bool norm = tensor.shape.columns == 0;
  const double deviation = norm ? 0.1 : 1.5 / std::sqrt(static_cast<double>(tensor.shape.columns));
  for (int64_t i = 0; i < tensor.shape.NumElements(); ++i) {
    const double value = (norm ? 1.0 : 0.0) + deviation * stream.NextNormal();
    const uint16_t word = Narrow(static_cast<float>(value), DType::kBf16);
    result.bytes += static_cast<char>(word & 0xFF);
    result.bytes += static_cast<char>(word >> 8);
  }
  return result;
}

}  // namespace

std::string SafetensorsBytes(const std::map<std::string, TestTensor>& tensors) {
  nlohmann::json header;
  header["__metadata__"]["format"] = "pt";
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  return bytes + text + data;
}

TestFolder::TestFolder() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name();
  for (char& c : name) c = c == '/' ? '_' : c;
  path_ = testing::TempDir() + "batchvar_" + name;
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

TestFolder::~TestFolder() { std::filesystem::remove_all(path_); }

void TestFolder::Write(const std::string& name, const std::string& bytes) const {
  std::ofstream out(Path(name), std::ios::binary);
  out << bytes;
  BV_CHECK(out.good());
}

void TestFolder::WriteRandomModel(const std::string& config_text, uint64_t seed) const {
  Write("config.json", config_text);
  const DecoderConfig config = ReadDecoderConfig(path_).value();
  std::vector<NamedTensor> tensors = {EmbeddingTensor(config), FinalNormTensor(config),
                                      HeadTensor(config)};
  for (int32_t i = 0; i < config.model.layers; ++i) {
    const LayerTensors layer = TensorsOfLayer(config, i);
    tensors.insert(tensors.end(),
                   {layer.norm_in, layer.q, layer.k, layer.v, layer.o, layer.norm_post});
    if (config.model.qk_norm) tensors.insert(tensors.end(), {layer.q_norm, layer.k_norm});
    if (config.model.IsMoe()) tensors.push_back(layer.router);
    for (const MlpTensors& mlp : layer.mlps) {
      tensors.insert(tensors.end(), {mlp.gate, mlp.up, mlp.down});
    }
  }
  std::map<std::string, TestTensor> by_name;
  for (const NamedTensor& tensor : tensors) by_name[tensor.name] = RandomTensor(tensor, seed);
  Write("model.safetensors", SafetensorsBytes(by_name));
}

std::string SmallConfig(const std::string& family) {
  nlohmann::json config = {{"architectures", {family}},
                           {"hidden_size", 64},
                           {"intermediate_size", 96},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 2},
                           {"head_dim", 16},
                           {"vocab_size", 128},
                           {"max_position_embeddings", 256},
                           {"rms_norm_eps", 1e-5},
                           {"rope_theta", 10000.0},
                           {"hidden_act", "silu"},
                           {"tie_word_embeddings", false}};
  if (family == "MixtralForCausalLM") {
    config["num_local_experts"] = 4;
    config["num_experts_per_tok"] = 2;
  }
  if (family == "Qwen3MoeForCausalLM") {
    config["num_experts"] = 8;
    config["num_experts_per_tok"] = 3;
    config["moe_intermediate_size"] = 32;
    config["norm_topk_prob"] = false;
  }
  return config.dump();
}

}  // namespace batchvar
