// What an experiment found: per arm how many texts there were, when they parted from the first
// arm's, and which op's order parted first. A plain value: made by kernels/experiment, written by
// sim/report/experiment_*.h.
#ifndef BATCHVAR_SIM_DIVERGENCE_EXPERIMENT_RESULT_H_
#define BATCHVAR_SIM_DIVERGENCE_EXPERIMENT_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/digest.h"
#include "sim/divergence/logit_noise.h"
#include "sim/divergence/near_tie.h"
#include "sim/numerics/order.h"
#include "sim/shape/op_shape.h"

namespace batchvar {

// How one row was summed in one op, and in what company.
struct RowSum {
  int32_t batch = 0;          // requests in the step
  int64_t m = 0;              // rows of the body's GEMMs
  std::vector<Range> pieces;  // of the executed sum, in the order in which they are combined
  std::string combine;
  int32_t block = 0;        // of attention and norms: what one inner step spans
  bool descending = false;  // attention walks its blocks downwards
  Arithmetic arithmetic = Arithmetic::kMmaSm90;
  Digest klass;  // of the whole row
};

// Where a trial's text parts from that of the first trial of the arm it is compared with ("a").
struct TextDivergence {
  int64_t trial = 0;
  int64_t position = 0;  // generated token, from 0
  int64_t token_a = 0;
  int64_t token_b = 0;
  float margin = 0.0f;     // of a's top two there
  bool tie = false;        // exactly 0
  LogitDifference logits;  // there, of the tokens that both had among their top two
  // The first row that met another order: its position in the request, the first op in layer
  // order whose class differs, and how the two summed it. Bits can part only from here on.
  int64_t row = -1;
  Op first_op = Op::kQkvProj;
  RowSum a;
  RowSum b;
  // By execution of that row under both plans: the first layer and op whose bits differ; layer -1
  // is outside of the layers.
  bool bits_differ = false;
  int32_t bits_layer = -1;
  Op bits_op = Op::kQkvProj;
  uint32_t bits_max_ulp = 0;
};

// What the request met in one trial.
struct TrialCompany {
  int32_t min_batch = 0;  // requests in the steps that decoded it
  int32_t median_batch = 0;
  int32_t max_batch = 0;
  int64_t cached_tokens = 0;  // of the prompt, from the prefix cache
  int32_t preemptions = 0;
};

struct ArmResult {
  std::string name;
  std::string against;  // the arm whose first trial it is compared with
  int32_t fillers = 0;
  int64_t trials = 0;
  int64_t distinct = 0;  // texts
  int64_t top = 0;       // trials that share the commonest text
  int64_t differ = 0;    // trials with another text than that one
  std::string device;
  int32_t tp = 1;
  DType dtype = DType::kBf16;
  std::string policies;  // "textbook/fa3": of GEMMs and of attention
  uint64_t sampling_seed = 0;
  std::vector<TrialCompany> met;  // by trial
  bool repeat_identical = true;   // the arm was run a second time, with the same texts
  bool inconclusive = false;  // the request met less than half of the company that was asked for
  int32_t min_batch = 0;
  int32_t median_batch = 0;
  int32_t max_batch = 0;
  int64_t rows_needed = 0;
  int64_t rows_computed = 0;
  std::vector<TextDivergence> divergences;     // by trial
  std::vector<std::vector<int64_t>> texts;     // generated tokens, by trial
  std::vector<std::vector<TopTwo>> decisions;  // of each of them
  std::vector<TopTwo> reference;               // decisions of the first trial of `against`
  NoiseBand noise;                             // of this arm's trials around it
};

// Over the trials whose text differs: where it does first.
struct FirstDivergence {
  bool exists = false;
  int64_t min = 0;
  int64_t median = 0;
  int64_t max = 0;
};
FirstDivergence FirstDivergenceOf(const ArmResult& arm);

struct ExperimentResult {
  std::string model;
  std::string plan_model;  // empty: its own plans
  bool synthetic = false;  // weights made from a seed
  std::string dtype;
  std::string logits;
  std::string isa;
  uint64_t seed = 0;
  int64_t prompt_tokens = 0;
  Digest prompt_digest;  // of the token ids, as 64-bit integers
  int64_t max_tokens = 0;
  std::vector<ArmResult> arms;
  std::vector<TopTwo> reference;  // of the first arm's first trial
  std::string verdict;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_DIVERGENCE_EXPERIMENT_RESULT_H_
