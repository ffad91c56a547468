// One experiment, typed and with every default filled in: what `config expand` prints and what
// every command runs. Made by load_experiment.h.
#ifndef BATCHVAR_SIM_CONFIG_EXPERIMENT_SPEC_H_
#define BATCHVAR_SIM_CONFIG_EXPERIMENT_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/numerics/dtype.h"
#include "sim/plan/device_spec.h"
#include "sim/plan/policy_spec.h"
#include "sim/serving/arrival_spec.h"
#include "sim/serving/latency.h"
#include "sim/serving/scheduler_config.h"
#include "sim/shape/capture_sizes.h"
#include "sim/shape/model_spec.h"

namespace batchvar {

// `workload.trace`. Times are seconds of trace time, before time_scale is applied.
struct TraceSpec {
  std::string path;           // as typed; relative paths are relative to the experiment's folder,
                              // else to the working directory
  std::string resolved_path;  // what to open
  std::string format;         // azure burstgpt mooncake bailian vidur llmservingsim jsonl
  int32_t block_size = 0;     // 0: the format's own (mooncake 512, bailian 16)
  double time_scale = 1.0;    // 2 = twice as slow
  double start_s = 0;         // window [start_s, end_s), from the first row
  double end_s = 0;           // 0: no end
  int64_t max_requests = 0;   // 0: all; in file order
  bool strict = false;
};

struct WorkloadSpec {
  bool has_trace = false;
  TraceSpec trace;              // if has_trace
  SyntheticWorkload synthetic;  // else
};

enum class PaddingMode : uint8_t { kCapture, kExact };

struct PaddingSpec {
  PaddingMode mode = PaddingMode::kCapture;
  CaptureRule rule = CaptureRule::kVllm032;
  bool sizes_auto = true;
  std::vector<int32_t> sizes;  // ascending; resolved also when auto
  // sglang: `sizes` are batch sizes of decode steps, and steps with prompts are padded to
  // prefill_sizes (none: they run as they are).
  bool by_phase = false;
  int32_t cuda_graph_max_bs = 0;  // sglang: the largest of `sizes` that auto may choose
  bool capture_prefill = false;   // sglang: enable_piecewise_cuda_graph
  std::vector<int32_t> prefill_sizes;
};

struct ExperimentSpec {
  int32_t schema_version = 1;
  uint64_t seed = 42;
  ModelSpec model;
  DeviceSpec device;
  int32_t tp = 1;
  DType dtype = DType::kBf16;
  SchedulerConfig scheduler;            // every `auto` resolved
  double gpu_memory_utilization = 0.9;  // of weights and KV; sglang calls it mem_fraction_static
  PaddingSpec padding;
  PolicySpec policies;
  WorkloadSpec workload;
  GoodputLimits goodput;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_EXPERIMENT_SPEC_H_
