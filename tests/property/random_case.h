// Small random workloads with random scheduler settings, each a function of its seed. They are as
// tight as settings may be (sim/config refuses worse). Blocks: one sequence of max_model_len fits,
// the budget is at least max_num_seqs, and without chunked prefill at least max_model_len. sglang:
// the pool holds the longest prompt that is not turned away.
#ifndef BATCHVAR_TESTS_PROPERTY_RANDOM_CASE_H_
#define BATCHVAR_TESTS_PROPERTY_RANDOM_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/serving/request.h"
#include "sim/serving/scheduler_config.h"

namespace batchvar {

struct RandomCase {
  uint64_t seed = 0;
  SchedulerConfig config;
  std::vector<Request> requests;  // in order of arrival; times are small: steps, or units of time
};

RandomCase MakeRandomCase(uint64_t seed);

// Everything that is needed to make the case again: print it when a case fails.
std::string Describe(const RandomCase& random_case);

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_PROPERTY_RANDOM_CASE_H_
