// Weights for a model that has none: every tensor from its own seeded stream, so an element is a
// function of (seed, tensor name, row, column), whatever the threads. A random head has margins far
// smaller than a trained one's; the planted successor repairs that: row n of the head is
//   alpha * exp(0.8 g_n) * embedding[perm(n)] + beta * noise,   perm a seeded cycle,
// so one successor of every token gets a boost whose size varies from token to token. Measured
// margins: docs/model_files.md. Every report that used such weights has to say so.
#ifndef BATCHVAR_KERNELS_DECODER_SYNTHETIC_WEIGHTS_H_
#define BATCHVAR_KERNELS_DECODER_SYNTHETIC_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cpu/worker_pool.h"
#include "kernels/decoder/decoder_tensors.h"
#include "kernels/decoder/decoder_weights.h"
#include "sim/shape/model_spec.h"
#include "sim/shape/synthetic_spec.h"

namespace batchvar {

// The family whose layers have the model's parts; the head is never tied to the embedding, because
// it is planted. A head_dim that RoPE cannot turn is a ConfigError.
absl::StatusOr<DecoderConfig> SyntheticConfig(const ModelSpec& model);

// alpha where SyntheticSpec leaves it open: the median boost stands a little below the largest of
// vocab_size noise logits. That keeps margins alike over hidden sizes and vocabularies.
double DefaultSuccessorStrength(const ModelSpec& model, double beta);

// Bytes that making the weights takes at its peak.
int64_t SyntheticWeightBytes(const ModelSpec& model);
// A ConfigError when that is more than `machine_bytes`. Called before anything is allocated.
absl::Status CheckWeightsFit(const ModelSpec& model, int64_t machine_bytes);
// Memory of this machine, or of the container that limits it (cgroup v2).
int64_t MachineMemoryBytes();

// One tensor, [rows][columns], as the model has it.
std::vector<uint16_t> SyntheticTensor(const DecoderConfig& config, const SyntheticSpec& spec,
                                      const NamedTensor& tensor, DType dtype, WorkerPool* pool);

// `dtype` is bf16 or fp16. ConfigErrors: a model that does not fit into memory, or that `tp` cannot
// cut.
absl::StatusOr<DecoderWeights> MakeSyntheticWeights(const ModelSpec& model,
                                                    const SyntheticSpec& spec, DType dtype,
                                                    int32_t tp, WorkerPool* pool);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_SYNTHETIC_WEIGHTS_H_
