// Models written out by hand, so that these tests do not need configs/.
#ifndef BATCHVAR_TESTS_SHAPE_MODELS_H_
#define BATCHVAR_TESTS_SHAPE_MODELS_H_

#include "sim/shape/model_spec.h"

namespace batchvar {

inline ModelSpec Llama3_8b() {
  ModelSpec model;
  model.name = "llama3_8b";
  model.layers = 32;
  model.hidden_size = 4096;
  model.intermediate_size = 14336;
  model.q_heads = 32;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.vocab_size = 128256;
  model.max_positions = 8192;
  return model;
}

inline ModelSpec Qwen3_0_6b() {
  ModelSpec model;
  model.name = "qwen3_0_6b";
  model.layers = 28;
  model.hidden_size = 1024;
  model.intermediate_size = 3072;
  model.q_heads = 16;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.vocab_size = 151936;
  model.qk_norm = true;
  model.tied_embeddings = true;
  return model;
}

inline ModelSpec Smollm2_135m() {
  ModelSpec model;
  model.name = "smollm2_135m";
  model.layers = 30;
  model.hidden_size = 576;
  model.intermediate_size = 1536;
  model.q_heads = 9;
  model.kv_heads = 3;
  model.head_dim = 64;
  model.vocab_size = 49152;
  model.tied_embeddings = true;
  return model;
}

inline ModelSpec Qwen3_30b_a3b() {
  ModelSpec model;
  model.name = "qwen3_30b_a3b";
  model.layers = 48;
  model.hidden_size = 2048;
  model.q_heads = 32;
  model.kv_heads = 4;
  model.head_dim = 128;
  model.vocab_size = 151936;
  model.qk_norm = true;
  model.num_experts = 128;
  model.experts_per_token = 8;
  model.moe_intermediate_size = 768;
  return model;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_SHAPE_MODELS_H_
