// Prompt and output lengths of synthetic requests, in tokens. Request i's length is drawn from the
// item stream (seed, stream name, i) alone, so it does not depend on the arrival process, on the
// rate, or on which requests were asked for before. Called by workload_source.cc with the streams
// "prompt_len" and "output_len".
#ifndef BATCHVAR_SIM_SERVING_LENGTH_SAMPLER_H_
#define BATCHVAR_SIM_SERVING_LENGTH_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/rng.h"
#include "sim/serving/arrival_spec.h"

namespace batchvar {

class LengthSampler {
 public:
  // The spec is sim/config's and therefore valid: 1 <= min <= max, at most 2^20 lengths for zipf,
  // and at least one positive weight for empirical.
  LengthSampler(const LengthSpec& spec, uint64_t seed, std::string_view stream);

  // fixed gives exactly that and empirical one of its lengths; the others lie in [min, max].
  // normal and lognormal are rounded to the nearest token and what falls outside is put on the
  // bound, so a tight bound moves the mean; nothing is redrawn.
  int32_t At(int64_t request) const;

 private:
  int32_t Above(uint64_t offset) const;  // min + offset
  int32_t Bounded(double tokens) const;
  size_t TableIndex(double uniform) const;

  LengthDistribution distribution_;
  ItemStreams streams_;
  int32_t fixed_;
  int32_t min_;
  int32_t max_;
  double mean_;  // normal: of the length; lognormal: of its logarithm
  double stddev_;
  // zipf, empirical: running sums of the weights, and the lengths they belong to (empirical).
  std::vector<double> cumulative_;
  std::vector<int32_t> tokens_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_LENGTH_SAMPLER_H_
