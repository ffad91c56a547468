// What tests of the decoder have in common: a device, policies that cut even the tiny models' sums,
// and a model with its planner and executor.
#ifndef BATCHVAR_TESTS_KERNELS_DECODER_SETUP_H_
#define BATCHVAR_TESTS_KERNELS_DECODER_SETUP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/decoder/decoder.h"
#include "kernels/decoder/greedy.h"
#include "kernels/decoder/step_planner.h"
#include "tests/test_data.h"

namespace batchvar {

inline DeviceSpec H100() {
  DeviceSpec device;
  device.name = "h100";
  device.sm_count = 132;
  device.compute_capability = 90;
  return device;
}

// Textbook rules with pieces of 16 products and of 16 positions, so that K = 64 is already cut.
inline PolicySpec FinePolicies() {
  PolicySpec policies;
  policies.gemm.tile_k = 16;
  policies.gemm.k_min = 16;
  policies.attention.tile_kv = 16;
  return policies;
}

// One loaded model. Everything that the decoder points to lives as long as this.
struct LoadedModel {
  DecoderWeights weights;
  WorkerPool pool;
  Decoder decoder;
  StepPlanner planner;

  LoadedModel(DecoderWeights loaded, const PolicySpec& policies, int32_t threads, Isa isa)
      : weights(std::move(loaded)),
        pool(threads),
        decoder(weights, isa, &pool),
        planner({weights.config.model, weights.tp, weights.dtype, H100(), policies}) {}

  // The row at `position` as the only row of its step.
  RowPlan AlonePlan(int64_t position, bool has_head) {
    return planner.Row(planner.Begin(1, {{1, position + 1}}), 0, position, has_head);
  }
  RowPlanSource AlonePlans() {
    return [this](int64_t position, bool samples) { return AlonePlan(position, samples); };
  }
};

// Dies if the folder does not load: callers have looked for it.
inline std::unique_ptr<LoadedModel> LoadOrDie(const std::string& folder, DType dtype,
                                              const PolicySpec& policies = FinePolicies(),
                                              int32_t threads = 1, int32_t tp = 1,
                                              Isa isa = BestIsa()) {
  absl::StatusOr<DecoderWeights> weights = LoadDecoderWeights(folder, dtype, tp);
  return std::make_unique<LoadedModel>(std::move(weights).value(), policies, threads, isa);
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_KERNELS_DECODER_SETUP_H_
