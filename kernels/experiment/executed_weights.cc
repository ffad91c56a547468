#include "kernels/experiment/executed_weights.h"

#include <utility>

#include "kernels/decoder/synthetic_weights.h"

namespace batchvar {

ExecutedWeights::ExecutedWeights(std::string folder, std::optional<SyntheticModel> synthetic,
                                 WorkerPool* pool)
    : folder_(std::move(folder)), synthetic_(std::move(synthetic)), pool_(pool) {}

absl::StatusOr<const DecoderWeights*> ExecutedWeights::Of(DType dtype, int32_t tp) {
  std::unique_ptr<DecoderWeights>& weights = loaded_[{dtype, tp}];
  if (weights == nullptr) {
    absl::StatusOr<DecoderWeights> made =
        synthetic_.has_value()
            ? MakeSyntheticWeights(synthetic_->model, synthetic_->spec, dtype, tp, pool_)
            : LoadDecoderWeights(folder_, dtype, tp);
    if (!made.ok()) return made.status();
    weights = std::make_unique<DecoderWeights>(*std::move(made));
  }
  return weights.get();
}

}  // namespace batchvar
