// What a forward pass needs to know of a model: config.json of its Hugging Face folder, in the
// published form (rope_theta, rope_scaling) or in that of Transformers 5 (rope_parameters). A
// variant that the decoder does not compute is an error, never a guess.
// Read by whoever loads a model; the planner gets its ModelSpec.
#ifndef BATCHVAR_KERNELS_DECODER_DECODER_CONFIG_H_
#define BATCHVAR_KERNELS_DECODER_DECODER_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/shape/model_spec.h"

namespace batchvar {

enum class DecoderFamily : uint8_t { kLlama, kQwen3, kMixtral, kQwen3Moe };

// Llama 3.1: long wavelengths are stretched, short ones kept, those between blended.
struct RopeScaling {
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int64_t original_max_positions = 0;
};

struct DecoderConfig {
  DecoderFamily family = DecoderFamily::kLlama;
  // Sizes; moe_intermediate_size is an expert's, intermediate_size is 0 where layers are MoE.
  ModelSpec model;
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000.0;
  std::optional<RopeScaling> rope_scaling;
  bool norm_topk_prob = true;  // MoE: the chosen experts' probabilities are made to sum to 1
};

// Reads `folder`/config.json. Every fault is an InputError that names the file and the field.
absl::StatusOr<DecoderConfig> ReadDecoderConfig(const std::string& folder);

// By how much pair i of a head turns from one position to the next, scaling included; head_dim / 2.
// Source of the scaling: Transformers 5.24 modeling_rope_utils.py,
// _compute_llama3_parameters (2026-11), in double.
std::vector<double> InverseFrequencies(const DecoderConfig& config);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_DECODER_CONFIG_H_
