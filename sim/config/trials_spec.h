// The trials of an experiment: one request, held byte for byte, sent again and again in different
// company. Read by load_trials.h, run by kernels/experiment.
#ifndef BATCHVAR_SIM_CONFIG_TRIALS_SPEC_H_
#define BATCHVAR_SIM_CONFIG_TRIALS_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_overrides.h"
#include "sim/config/experiment_spec.h"
#include "sim/numerics/dtype.h"
#include "sim/shape/synthetic_spec.h"

namespace batchvar {

// A model without weights of its own, and how they are made.
struct SyntheticModel {
  ModelSpec model;
  SyntheticSpec spec;
};

// One condition under which all trials are run.
struct ArmSpec {
  std::string name;
  std::string against;  // the arm whose first text this one's are compared with: an earlier one
  int32_t fillers = 0;  // neighbours, sent in the same window as the request
  bool warm = false;    // the same prompt was served before: its KV may be in the prefix cache
  uint64_t seed = 0;    // of sampling; greedy decoding must not see it
  // Which blocks of a paged KV cache the request is given; 0: one after another. The order in which
  // they are read stays, so it must not change a bit.
  uint64_t kv_placement = 0;
  std::vector<ConfigOverride> set;  // keys of the experiment that are the arm's own
  ExperimentSpec spec;              // the experiment with them laid over it
};

struct TrialsSpec {
  ExperimentSpec base;  // what all arms share
  std::string weights;  // name or folder of the executed model; synthetic: for show
  std::optional<SyntheticModel> synthetic;
  std::string plan_model;           // model whose shapes are planned; empty: the executed one's own
  std::string prompt;               // text, or
  std::vector<int64_t> prompt_ids;  // token ids
  bool add_bos = false;             // put token 1 before a text, as llama2.c's models expect
  int32_t max_tokens = 256;
  int32_t trials = 20;
  double window_s = 1.0;        // each call is sent at a seeded uniform offset in it
  DType logits = DType::kFp32;  // compared as fp32, or rounded to 16 bits first
  int32_t filler_prompt_tokens = 16;
  int32_t filler_output_tokens = 256;
  std::vector<ArmSpec> arms;  // at least one; the first is compared with itself
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_TRIALS_SPEC_H_
