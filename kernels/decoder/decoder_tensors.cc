#include "kernels/decoder/decoder_tensors.h"

#include "absl/strings/str_cat.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

MlpTensors MlpOf(const std::string& prefix, const char* gate, const char* up, const char* down,
                 int64_t hidden, int64_t width) {
  return {{absl::StrCat(prefix, gate, ".weight"), {width, hidden}},
          {absl::StrCat(prefix, up, ".weight"), {width, hidden}},
          {absl::StrCat(prefix, down, ".weight"), {hidden, width}}};
}

void AddMlps(const DecoderConfig& config, const std::string& layer, LayerTensors* tensors) {
  const ModelSpec& model = config.model;
  const int64_t hidden = model.hidden_size;
  if (!model.IsMoe()) {
    tensors->mlps.push_back(MlpOf(layer + "mlp.", "gate_proj", "up_proj", "down_proj", hidden,
                                  model.intermediate_size));
    return;
  }
  const bool mixtral = config.family == DecoderFamily::kMixtral;
  const std::string block = layer + (mixtral ? "block_sparse_moe." : "mlp.");
  tensors->router = {block + "gate.weight", {model.num_experts, hidden}};
  for (int32_t expert = 0; expert < model.num_experts; ++expert) {
    const std::string prefix = absl::StrCat(block, "experts.", expert, ".");
    tensors->mlps.push_back(
        mixtral ? MlpOf(prefix, "w1", "w3", "w2", hidden, model.moe_intermediate_size)
                : MlpOf(prefix, "gate_proj", "up_proj", "down_proj", hidden,
                        model.moe_intermediate_size));
  }
}

}  // namespace

LayerTensors TensorsOfLayer(const DecoderConfig& config, int32_t layer) {
  const ModelSpec& model = config.model;
  const int64_t hidden = model.hidden_size;
  const int64_t q_width = int64_t{model.q_heads} * model.head_dim;
  const int64_t kv_width = int64_t{model.kv_heads} * model.head_dim;
  const std::string prefix = absl::StrCat("model.layers.", layer, ".");
  const std::string attention = prefix + "self_attn.";
  LayerTensors tensors;
  tensors.norm_in = {prefix + "input_layernorm.weight", {hidden}};
  tensors.q = {attention + "q_proj.weight", {q_width, hidden}};
  tensors.k = {attention + "k_proj.weight", {kv_width, hidden}};
  tensors.v = {attention + "v_proj.weight", {kv_width, hidden}};
  tensors.o = {attention + "o_proj.weight", {hidden, q_width}};
  tensors.q_norm = {attention + "q_norm.weight", {model.head_dim}};
  tensors.k_norm = {attention + "k_norm.weight", {model.head_dim}};
  tensors.norm_post = {prefix + "post_attention_layernorm.weight", {hidden}};
  AddMlps(config, prefix, &tensors);
  return tensors;
}

NamedTensor EmbeddingTensor(const DecoderConfig& config) {
  return {"model.embed_tokens.weight", {config.model.vocab_size, config.model.hidden_size}};
}

NamedTensor FinalNormTensor(const DecoderConfig& config) {
  return {"model.norm.weight", {config.model.hidden_size}};
}

NamedTensor HeadTensor(const DecoderConfig& config) {
  if (config.model.tied_embeddings) return EmbeddingTensor(config);
  return {"lm_head.weight", {config.model.vocab_size, config.model.hidden_size}};
}

absl::Status CheckLayerCount(const DecoderConfig& config, const Checkpoint& checkpoint) {
  const std::string extra =
      checkpoint.FirstWithPrefix(absl::StrCat("model.layers.", config.model.layers, "."));
  if (extra.empty()) return absl::OkStatus();
  return InputError(
      {.file = checkpoint.path(), .field = extra},
      absl::StrCat("belongs to no layer: config.json has num_hidden_layers ", config.model.layers));
}

}  // namespace batchvar
