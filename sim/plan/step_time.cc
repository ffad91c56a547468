#include "sim/plan/step_time.h"

#include "sim/base/check.h"

namespace batchvar {
namespace {

// Bytes times picoseconds per second pass 2^63 for any real model.
__extension__ typedef __int128 Int128;

constexpr int64_t kPpm = 1'000'000;

// Time to move or compute `amount` at `per_second`, rounded up to a whole picosecond.
TimePs PsFor(Int128 amount, int64_t per_second) {
  return static_cast<TimePs>((amount * kPsPerSecond + per_second - 1) / per_second);
}

// KV heads that one rank keeps; a head that is copied to several ranks is read by each of them.
int64_t KvBytesPerToken(const ModelSpec& model, int32_t tp, DType dtype) {
  return 2 * int64_t{model.layers} * CeilDiv(model.kv_heads, tp) * model.head_dim *
         DTypeBytes(dtype);
}

int64_t WeightBytes(const ModelSpec& model, int32_t tp, DType dtype) {
  return CeilDiv(NumParameters(model) * DTypeBytes(dtype), tp);
}

// The output head, applied to the rows that get logits only.
int64_t HeadParameters(const ModelSpec& model) {
  return int64_t{model.vocab_size} * model.hidden_size;
}

// Parameters that are looked up instead of multiplied: the input embedding, unless it is the head.
int64_t LookedUpParameters(const ModelSpec& model) {
  return model.tied_embeddings ? 0 : HeadParameters(model);
}

}  // namespace

StepTimeModel::StepTimeModel(const ModelSpec& model, const DeviceSpec& device, int32_t tp,
                             DType dtype)
    : streamed_bytes_(
          CeilDiv((NumParameters(model) - LookedUpParameters(model)) * DTypeBytes(dtype), tp)),
      kv_bytes_per_token_(KvBytesPerToken(model, tp, dtype)),
      flops_per_token_(CeilDiv(
          2 * (NumActiveParameters(model) - LookedUpParameters(model) - HeadParameters(model)),
          tp)),
      flops_per_logit_row_(CeilDiv(2 * HeadParameters(model), tp)),
      flops_per_pair_(4 * int64_t{model.layers} * CeilDiv(model.q_heads, tp) * model.head_dim),
      allreduce_bytes_per_token_(
          tp == 1 ? 0 : 2 * int64_t{model.layers} * model.hidden_size * DTypeBytes(dtype)),
      device_(device) {
  BV_CHECK(device.memory_bytes_per_s > 0 && device.dense_16bit_flops > 0);
  BV_CHECK(tp == 1 || device.interconnect_bytes_per_s > 0);
}

StepCost StepTimeModel::Cost(const StepLoad& load) const {
  StepCost cost;
  cost.overhead = device_.step_overhead_ns * kPsPerNs;
  cost.weight_traffic = PsFor(streamed_bytes_, device_.memory_bytes_per_s);
  const Int128 flops = Int128{flops_per_token_} * load.padded_tokens +
                       Int128{flops_per_logit_row_} * load.num_requests;
  cost.gemm_compute = PsFor(flops, device_.dense_16bit_flops);
  cost.kv_traffic =
      PsFor(Int128{kv_bytes_per_token_} * load.kv_tokens_read, device_.memory_bytes_per_s);
  cost.attention_compute =
      PsFor(Int128{flops_per_pair_} * load.qk_pairs, device_.dense_16bit_flops);
  if (allreduce_bytes_per_token_ > 0) {
    cost.allreduce = PsFor(Int128{allreduce_bytes_per_token_} * load.padded_tokens,
                           device_.interconnect_bytes_per_s);
  }
  return cost;
}

int64_t StepTimeModel::KneeM() const {
  // ceil(x) >= t for whole t means x > t - 1, so the knee is exact although Cost() rounds.
  const Int128 weights = PsFor(streamed_bytes_, device_.memory_bytes_per_s);
  return static_cast<int64_t>((weights - 1) * device_.dense_16bit_flops /
                              (Int128{flops_per_token_ + flops_per_logit_row_} * kPsPerSecond)) +
         1;
}

int64_t StepTimeModel::KvTokensMatchingWeights() const {
  return CeilDiv(streamed_bytes_, kv_bytes_per_token_);
}

int64_t NumGpuBlocks(const ModelSpec& model, const DeviceSpec& device, int32_t tp, DType dtype,
                     int32_t block_size, int64_t utilization_ppm) {
  const Int128 fixed = Int128{WeightBytes(model, tp, dtype)} + device.reserve_bytes;
  const Int128 free_ppm = Int128{device.memory_bytes} * utilization_ppm - fixed * kPpm;
  const Int128 block_ppm = Int128{KvBytesPerToken(model, tp, dtype)} * block_size * kPpm;
  const Int128 quotient = free_ppm / block_ppm;
  // Division truncates towards zero; the result must be a floor below zero as well.
  return static_cast<int64_t>(free_ppm % block_ppm < 0 ? quotient - 1 : quotient);
}

}  // namespace batchvar
