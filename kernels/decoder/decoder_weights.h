// The weights of a decoder as the 16-bit forward pass reads them: every linear layer packed for the
// GEMM, q, k, v and gate, up merged as serving engines do, cut for tensor parallelism. Weights are
// rounded to the activations' type (exact where the file already has it). Immutable; any number of
// Decoders may share one.
#ifndef BATCHVAR_KERNELS_DECODER_DECODER_WEIGHTS_H_
#define BATCHVAR_KERNELS_DECODER_DECODER_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/packed_matrix.h"
#include "kernels/decoder/decoder_config.h"
#include "kernels/decoder/decoder_tensors.h"
#include "sim/numerics/dtype.h"

namespace batchvar {

// Matrices are listed by rank. With tp ranks, rank r has q heads [r, r + 1) * q_heads / tp and the
// KV heads that they read (copied where there are fewer KV heads than ranks), and columns
// [r, r + 1) * width / tp of an MLP; o_proj and down_proj are cut along K.
struct MlpWeights {
  std::vector<PackedMatrix> gate_up;  // [2 * width / tp][hidden]: gates, then ups
  std::vector<PackedMatrix> down;     // [hidden][width / tp]
};

struct DecoderLayer {
  std::vector<uint16_t> norm_in;  // [hidden]
  std::vector<PackedMatrix> qkv;  // [(q_heads + 2 kv_heads) * head_dim][hidden] of the rank
  std::vector<uint16_t> q_norm;   // [head_dim]; empty without QK-norm
  std::vector<uint16_t> k_norm;
  std::vector<PackedMatrix> o;      // [hidden][q_heads * head_dim / tp]
  std::vector<uint16_t> norm_post;  // [hidden]
  PackedMatrix router;              // MoE: [experts][hidden], whole on every rank
  std::vector<MlpWeights> mlps;     // by expert; a dense layer has one
};

struct DecoderWeights {
  DecoderConfig config;
  DType dtype = DType::kBf16;
  int32_t tp = 1;
  std::vector<uint16_t> embedding;  // [vocab][hidden]
  std::vector<DecoderLayer> layers;
  std::vector<uint16_t> final_norm;  // [hidden]
  // [vocab padded to a multiple of 64, / tp][hidden]: the padding rows are zero and never leave.
  std::vector<PackedMatrix> head;
};

// KV heads of a rank: the first one, and how many.
int32_t FirstKvHead(const ModelSpec& model, int32_t tp, int32_t rank);
int32_t KvHeadsOfRank(const ModelSpec& model, int32_t tp);

// Appends a tensor's words, [out][in], rounded to the weights' dtype.
using TensorReader =
    std::function<absl::Status(const NamedTensor& tensor, std::vector<uint16_t>* words)>;

// The weights from whoever has the tensors; errors are the reader's. `tp` can cut the model.
absl::StatusOr<DecoderWeights> AssembleDecoderWeights(const DecoderConfig& config, DType dtype,
                                                      int32_t tp, const TensorReader& read);

// `dtype` is bf16 or fp16. Faults of the folder are InputErrors that name file and tensor or field;
// a `tp` that cannot cut the model is a ConfigError.
absl::StatusOr<DecoderWeights> LoadDecoderWeights(const std::string& folder, DType dtype,
                                                  int32_t tp);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_DECODER_WEIGHTS_H_
