#include "kernels/experiment/executed_weights.h"

#include <utility>

#include "kernels/decoder/synthetic_weights.h"

namespace batchvar {

ExecutedWeights::ExecutedWeights(std::string folder, std::optional<SyntheticModel> synthetic,
                                 DType dtype, WorkerPool* pool)
    : folder_(std::move(folder)), synthetic_(std::move(synthetic)), dtype_(dtype), pool_(pool) {}

absl::StatusOr<const DecoderWeights*> ExecutedWeights::Of(int32_t tp) {
  std::unique_ptr<DecoderWeights>& weights = by_tp_[tp];
  if (weights == nullptr) {
    absl::StatusOr<DecoderWeights> made =
        synthetic_.has_value()
            ? MakeSyntheticWeights(synthetic_->model, synthetic_->spec, dtype_, tp, pool_)
            : LoadDecoderWeights(folder_, dtype_, tp);
    if (!made.ok()) return made.status();
    weights = std::make_unique<DecoderWeights>(*std::move(made));
  }
  return weights.get();
}

}  // namespace batchvar
