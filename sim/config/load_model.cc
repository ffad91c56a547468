// `model:` -> ModelSpec.
#include "sim/config/spec_parts.h"

namespace batchvar {
namespace {

// Far above any model, and small enough that byte and operation counts fit in 64 bits.
constexpr int64_t kMaxLayers = 10'000;
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxExperts = 1 << 16;

void CheckExperts(const ModelSpec& model, FirstError* errors, MapReader* reader) {
  if (!errors->ok()) return;
  if (!model.IsMoe()) {
    reader->Refuse({"experts_per_token", "moe_intermediate_size"}, "a model without num_experts");
    if (reader->Has("intermediate_size") && model.intermediate_size == 0) {
      reader->Error("intermediate_size", "must be at least 1 in a model without num_experts");
    }
    return;
  }
  if (model.experts_per_token > model.num_experts) {
    reader->Error("experts_per_token",
                  "is more than num_experts, " + std::to_string(model.num_experts));
  }
}

}  // namespace

ModelSpec ReadModel(const ConfigNode& node, FirstError* errors) {
  ModelSpec model;
  model.name = "inline";
  MapReader reader(node, "model", errors);
  reader.Require(
      {"layers", "hidden_size", "q_heads", "kv_heads", "head_dim", "vocab_size", "max_positions"});
  reader.Text("name", &model.name);
  reader.Integer("layers", 1, kMaxLayers, &model.layers);
  reader.Integer("hidden_size", 1, kMaxWidth, &model.hidden_size);
  reader.Integer("intermediate_size", 0, kMaxWidth, &model.intermediate_size);
  reader.Integer("q_heads", 1, kMaxHeads, &model.q_heads);
  reader.Integer("kv_heads", 1, kMaxHeads, &model.kv_heads);
  reader.Integer("head_dim", 1, kMaxHeads, &model.head_dim);
  reader.Integer("vocab_size", 1, kMaxTokens, &model.vocab_size);
  reader.Integer("max_positions", 2, kMaxTokens, &model.max_positions);
  reader.Bool("qk_norm", &model.qk_norm);
  reader.Bool("tied_embeddings", &model.tied_embeddings);
  reader.Integer("num_experts", 0, kMaxExperts, &model.num_experts);
  reader.Text("source", &model.source);
  if (model.IsMoe()) {
    reader.Require({"experts_per_token", "moe_intermediate_size"});
    reader.Integer("experts_per_token", 1, kMaxExperts, &model.experts_per_token);
    reader.Integer("moe_intermediate_size", 1, kMaxWidth, &model.moe_intermediate_size);
  } else {
    reader.Require({"intermediate_size"});
  }
  CheckExperts(model, errors, &reader);
  reader.Finish();
  if (errors->ok() && model.q_heads % model.kv_heads != 0) {
    reader.Error("q_heads", "must be a multiple of kv_heads, " + std::to_string(model.kv_heads));
  }
  return model;
}

}  // namespace batchvar
