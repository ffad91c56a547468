// The same model in fp32, with sums in double: a forward pass written for checking, not for speed,
// and without the planner or the executor. It shares configuration, tensor names, routing rule and
// RoPE tables with Decoder, nothing else. An error of layout (a transposed weight, another RoPE
// variant, a wrong KV head) shows here at 1e-3, where 16-bit rounding would hide it. For tests.
#ifndef BATCHVAR_KERNELS_DECODER_FLOAT_DECODER_H_
#define BATCHVAR_KERNELS_DECODER_FLOAT_DECODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/row_ops.h"
#include "kernels/decoder/decoder_config.h"
#include "kernels/decoder/moe_routing.h"

namespace batchvar {

class Checkpoint;
struct MlpTensors;
struct NamedTensor;

class FloatDecoder {
 public:
  // Faults of the folder are those of LoadDecoderWeights.
  static absl::StatusOr<FloatDecoder> Load(const std::string& folder);

  struct Output {
    std::vector<float> logits;                       // [vocab_size]
    std::vector<std::vector<float>> residual_after;  // by layer: [hidden]
    std::vector<float> final_norm;                   // [hidden]
    std::vector<MoeRoute> routes;                    // by layer; MoE only
  };

  void Reset();  // a new request
  // Runs the token at the request's next position, which is below max_position_embeddings.
  Output Step(int64_t token);

  const DecoderConfig& config() const { return config_; }

 private:
  using Vector = std::vector<float>;
  struct Mlp {
    Vector gate, up, down;
  };
  struct Layer {
    Vector norm_in, q, k, v, o, q_norm, k_norm, norm_post, router;
    std::vector<Mlp> mlps;
    Vector keys, values;  // of the request: [positions][kv_heads][head_dim]
  };

  absl::Status LoadTensors(const Checkpoint& checkpoint);
  Vector Attend(const Vector& q, const Layer& layer) const;
  Vector RunMlp(const Layer& layer, const Vector& x, Output* output) const;
  void NormAndTurn(const Vector& norm, Vector* heads) const;

  DecoderConfig config_;
  std::optional<RopeTable> rope_;
  Vector embedding_, final_norm_, head_;
  std::vector<Layer> layers_;
  int64_t position_ = 0;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_FLOAT_DECODER_H_
