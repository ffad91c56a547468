// What the planner and the step-time model need to know of a model. Read from configs/models by
// sim/config; every field has the name of its YAML key.
#ifndef BATCHVAR_SIM_SHAPE_MODEL_SPEC_H_
#define BATCHVAR_SIM_SHAPE_MODEL_SPEC_H_

#include <cstdint>
#include <string>

namespace batchvar {

struct ModelSpec {
  std::string name;
  int32_t layers = 0;
  int32_t hidden_size = 0;
  int32_t intermediate_size = 0;  // dense MLP; 0 where every layer is MoE
  int32_t q_heads = 0;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  int32_t vocab_size = 0;
  int32_t max_positions = 0;
  bool qk_norm = false;  // Qwen3: RMSNorm on every q and k head
  bool tied_embeddings = false;
  // Mixture of experts; num_experts 0 means dense.
  int32_t num_experts = 0;
  int32_t experts_per_token = 0;
  int32_t moe_intermediate_size = 0;
  std::string source;  // where the numbers come from

  bool IsMoe() const { return num_experts > 0; }
};

// Parameters of the whole model (embeddings counted once if tied), and those one token touches: all
// but the experts it is not routed to. As on model cards, the embedding table counts as touched.
int64_t NumParameters(const ModelSpec& model);
int64_t NumActiveParameters(const ModelSpec& model);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SHAPE_MODEL_SPEC_H_
