// A first roofline of a step, in whole picoseconds. The constants are the device's; nothing is
// fitted to a story. Calibration against measured kernels is a later step.
//
//   body  = max(streamed weight bytes / bandwidth,
//               2 * (active parameters of the layers * M + of the head * R) / peak flops)
//   attn  = max(KV bytes / bandwidth, 4 * layers * q_heads * head_dim * pairs / peak flops)
//   comm  = 2 * layers * all-reduce bytes / interconnect, when tp > 1
//   step  = overhead + body + attn + comm
//
// M is padded; R is the rows that get logits. The input embedding is looked up, so it is neither
// streamed nor multiplied (unless it is the head as well). All per rank: weights, KV heads and
// query heads are divided by tp. Every division rounds up.
#ifndef BATCHVAR_SIM_PLAN_STEP_TIME_H_
#define BATCHVAR_SIM_PLAN_STEP_TIME_H_

#include <cstdint>

#include "sim/base/time.h"
#include "sim/numerics/dtype.h"
#include "sim/plan/device_spec.h"
#include "sim/shape/model_spec.h"

namespace batchvar {

// What the model looks at in a step.
struct StepLoad {
  int64_t padded_tokens = 0;   // M of the body
  int64_t num_requests = 0;    // rows of the head
  int64_t kv_tokens_read = 0;  // sum of kv_len over requests
  int64_t qk_pairs = 0;        // sum over query rows of the KV positions each one reads
};

struct StepCost {
  TimePs overhead = 0;
  TimePs weight_traffic = 0;
  TimePs gemm_compute = 0;
  TimePs kv_traffic = 0;
  TimePs attention_compute = 0;
  TimePs allreduce = 0;
  TimePs Total() const {
    return overhead + (weight_traffic > gemm_compute ? weight_traffic : gemm_compute) +
           (kv_traffic > attention_compute ? kv_traffic : attention_compute) + allreduce;
  }
};

class StepTimeModel {
 public:
  StepTimeModel(const ModelSpec& model, const DeviceSpec& device, int32_t tp, DType dtype);
  StepCost Cost(const StepLoad& load) const;

  int64_t streamed_bytes() const { return streamed_bytes_; }  // weights a step reads, one rank
  int64_t kv_bytes_per_token() const { return kv_bytes_per_token_; }  // on one rank
  // Smallest batch of decodes (M = R) whose arithmetic takes as long as streaming the weights.
  int64_t KneeM() const;
  // KV tokens in flight whose traffic equals that of the weights.
  int64_t KvTokensMatchingWeights() const;

 private:
  int64_t streamed_bytes_;
  int64_t kv_bytes_per_token_;
  int64_t flops_per_token_;
  int64_t flops_per_logit_row_;
  int64_t flops_per_pair_;
  int64_t allreduce_bytes_per_token_;
  DeviceSpec device_;
};

// floor((memory_bytes * gpu_memory_utilization - weight_bytes - reserve_bytes) / block bytes), all
// on one rank; may be <= 0 when the weights do not fit. `utilization_ppm` is in millionths, so that
// the result does not depend on floating point.
int64_t NumGpuBlocks(const ModelSpec& model, const DeviceSpec& device, int32_t tp, DType dtype,
                     int32_t block_size, int64_t utilization_ppm);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_STEP_TIME_H_
