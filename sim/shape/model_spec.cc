#include "sim/shape/model_spec.h"

namespace batchvar {
namespace {

// Gate, up and down matrices of one gated MLP.
int64_t MlpParameters(int64_t hidden, int64_t intermediate) { return 3 * hidden * intermediate; }

// `experts` of the MoE experts are counted; dense layers ignore it.
int64_t LayerParameters(const ModelSpec& model, int64_t experts) {
  const int64_t hidden = model.hidden_size;
  const int64_t q_width = int64_t{model.q_heads} * model.head_dim;
  const int64_t kv_width = int64_t{model.kv_heads} * model.head_dim;
  int64_t count = hidden * (q_width + 2 * kv_width) + q_width * hidden;  // qkv and o
  count += 2 * hidden;                                                   // the two RMSNorms
  if (model.qk_norm) count += 2 * int64_t{model.head_dim};
  if (!model.IsMoe()) return count + MlpParameters(hidden, model.intermediate_size);
  count += hidden * model.num_experts;  // router
  return count + experts * MlpParameters(hidden, model.moe_intermediate_size);
}

int64_t CountWithExperts(const ModelSpec& model, int64_t experts) {
  const int64_t table = int64_t{model.vocab_size} * model.hidden_size;
  return model.layers * LayerParameters(model, experts) + model.hidden_size +
         (model.tied_embeddings ? table : 2 * table);
}

}  // namespace

int64_t NumParameters(const ModelSpec& model) { return CountWithExperts(model, model.num_experts); }

int64_t NumActiveParameters(const ModelSpec& model) {
  return CountWithExperts(model, model.experts_per_token);
}

}  // namespace batchvar
