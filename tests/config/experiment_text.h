// Experiments as text, for the tests of this room. A document is put together from lines, so that
// the line of an expected error can be counted in the test itself.
#ifndef BATCHVAR_TESTS_CONFIG_EXPERIMENT_TEXT_H_
#define BATCHVAR_TESTS_CONFIG_EXPERIMENT_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/load_experiment.h"

namespace batchvar {

// Lines 1 to 3 of a small sound experiment; what a test adds begins on line 4.
inline constexpr char kHead[] =
    "model: llama3_8b\n"
    "device: h100_sxm\n"
    "workload: {arrivals: {process: all_at_once}, prompt_len: {fixed: 8}, output_len: {fixed: "
    "4}}\n";

// Lines 1 and 2; a workload begins on line 3.
inline constexpr char kHeadWithoutWorkload[] =
    "model: llama3_8b\n"
    "device: h100_sxm\n";

inline absl::StatusOr<ExperimentSpec> LoadText(const std::string& text,
                                               const std::vector<std::string>& overrides = {}) {
  return LoadExperimentText(text, "exp.yaml", "", overrides);
}

// The error's message, or "ok".
inline std::string ErrorOf(const std::string& text,
                           const std::vector<std::string>& overrides = {}) {
  const absl::StatusOr<ExperimentSpec> spec = LoadText(text, overrides);
  return spec.ok() ? "ok" : std::string(spec.status().message());
}

// kHead and more lines.
inline std::string ErrorWith(const std::string& lines,
                             const std::vector<std::string>& overrides = {}) {
  return ErrorOf(kHead + lines, overrides);
}

// The spec of kHead and more lines; an empty one, which no test expects, when it does not load.
inline ExperimentSpec SpecWith(const std::string& lines,
                               const std::vector<std::string>& overrides = {}) {
  const absl::StatusOr<ExperimentSpec> spec = LoadText(kHead + lines, overrides);
  return spec.ok() ? *spec : ExperimentSpec();
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_CONFIG_EXPERIMENT_TEXT_H_
