// The key `weights` of an `experiment` or `execute` map: whose weights run.
//   weights: NAME                                     a model's folder (docs/model_files.md)
//   weights: synthetic                                made for the model from a seed
//   weights: {synthetic: {seed: 7, alpha: 0.7, beta: 4}}
#ifndef BATCHVAR_SIM_CONFIG_WEIGHTS_KEY_H_
#define BATCHVAR_SIM_CONFIG_WEIGHTS_KEY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sim/config/config_reader.h"
#include "sim/config/trials_spec.h"

namespace batchvar {

// Fills one of the two; neither if the key is absent. The synthetic model itself is the caller's to
// fill in (ReadExecutedModel).
void ReadWeights(MapReader* reader, FirstError* errors, std::string* name,
                 std::optional<SyntheticModel>* synthetic);

// The model that a `model` value names, or holds as a map; nullptr is an error at `place`.
absl::StatusOr<ModelSpec> ReadExecutedModel(const ConfigNode* node, const SourceMark& place,
                                            const std::string& folder);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_WEIGHTS_KEY_H_
