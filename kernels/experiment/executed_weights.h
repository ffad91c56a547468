// The weights that an experiment or a trace executes, once for every type and tensor-parallel
// degree that is asked for: read from a model's folder, or made
// (kernels/decoder/synthetic_weights.h).
#ifndef BATCHVAR_KERNELS_EXPERIMENT_EXECUTED_WEIGHTS_H_
#define BATCHVAR_KERNELS_EXPERIMENT_EXECUTED_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/cpu/worker_pool.h"
#include "kernels/decoder/decoder_weights.h"
#include "sim/config/trials_spec.h"

namespace batchvar {

class ExecutedWeights {
 public:
  // `folder` is not looked at where there is a synthetic model. The pool outlives this object.
  ExecutedWeights(std::string folder, std::optional<SyntheticModel> synthetic, WorkerPool* pool);

  // Kept until this object goes. Errors are those of LoadDecoderWeights and MakeSyntheticWeights.
  absl::StatusOr<const DecoderWeights*> Of(DType dtype, int32_t tp);

 private:
  std::string folder_;
  std::optional<SyntheticModel> synthetic_;
  WorkerPool* pool_;
  std::map<std::pair<DType, int32_t>, std::unique_ptr<DecoderWeights>> loaded_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_EXECUTED_WEIGHTS_H_
