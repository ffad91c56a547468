// Small experiments for the tests of this room.
#ifndef BATCHVAR_TESTS_REPLAY_EXPERIMENTS_H_
#define BATCHVAR_TESTS_REPLAY_EXPERIMENTS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/config/load_experiment.h"

namespace batchvar {

inline ExperimentSpec ExperimentOf(const std::string& yaml,
                                   const std::vector<std::string>& overrides = {}) {
  auto spec = LoadExperimentText(yaml, "test.yaml", ".", overrides);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *spec;
}

// Llama-3.1-8B on an H100, `count` requests at once, prompts of 64 and outputs of 32 tokens.
inline ExperimentSpec AllAtOnce(int count, const std::vector<std::string>& overrides = {}) {
  return ExperimentOf(
      "model: llama31_8b\ndevice: h100_sxm\nworkload:\n  arrivals: {process: all_at_once}\n"
      "  prompt_len: {fixed: 64}\n  output_len: {fixed: 32}\n  num_requests: " +
          std::to_string(count) + "\n",
      overrides);
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_REPLAY_EXPERIMENTS_H_
