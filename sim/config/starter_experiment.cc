// What `batchvar config init` writes. A test keeps it loadable.
#include "sim/config/load_experiment.h"

namespace batchvar {

std::string StarterExperiment() {
  return R"(# One experiment; keys: docs/config.md. Only model, device and workload are required.
# Check it with 'batchvar config validate', see all defaults with 'batchvar config expand'.
schema_version: 1
seed: 42

model: llama31_8b       # a file of configs/models, a path, or the keys themselves
device: h100_sxm        # a file of configs/devices, a path, or the keys themselves
# tp: 1                 # tensor-parallel ranks
# dtype: bf16           # or fp16

scheduler:              # names and defaults are those of the engine
  policy: vllm_v1       # or sglang, static, orca
  # max_num_batched_tokens: 8192
  # max_num_seqs: 1024
  # with policy: sglang
  # chunked_prefill_size: 8192
  # enable_mixed_chunk: false

policies: textbook      # how kernels cut their sums; or batch_invariant

workload:
  arrivals: {process: poisson, rate_per_s: 4.0}
  prompt_len: {lognormal: {mean: 800, stddev: 900, min: 16, max: 8192}}
  output_len: {lognormal: {mean: 200, stddev: 180, min: 1, max: 2048}}
  num_requests: 500
  # or replay a file:
  # trace: {path: requests.jsonl, format: jsonl}

# goodput: {ttft_ms: 500, tpot_ms: 50}
)";
}

}  // namespace batchvar
