// The tensors of a model by their Hugging Face names, with the shapes that its configuration asks
// for. One list, so that both forward passes load the same. Linear weights are [out][in].
// Names: Transformers 5.24 (2026-11), modeling_{llama,qwen3,mixtral,qwen3_moe}.py as saved.
#ifndef BATCHVAR_KERNELS_DECODER_DECODER_TENSORS_H_
#define BATCHVAR_KERNELS_DECODER_DECODER_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/decoder/checkpoint.h"
#include "kernels/decoder/decoder_config.h"

namespace batchvar {

struct NamedTensor {
  std::string name;
  TensorShape shape;
};

struct MlpTensors {
  NamedTensor gate;
  NamedTensor up;
  NamedTensor down;
};

struct LayerTensors {
  NamedTensor norm_in;
  NamedTensor q, k, v, o;
  NamedTensor q_norm, k_norm;  // only with QK-norm
  NamedTensor norm_post;
  NamedTensor router;            // only MoE
  std::vector<MlpTensors> mlps;  // by expert; a dense layer has one
};

LayerTensors TensorsOfLayer(const DecoderConfig& config, int32_t layer);
NamedTensor EmbeddingTensor(const DecoderConfig& config);
NamedTensor FinalNormTensor(const DecoderConfig& config);
NamedTensor HeadTensor(const DecoderConfig& config);  // the embedding where it is tied

// An InputError when the checkpoint has a layer behind the configuration's last one: computing
// without it would be silent nonsense.
absl::Status CheckLayerCount(const DecoderConfig& config, const Checkpoint& checkpoint);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_DECODER_TENSORS_H_
