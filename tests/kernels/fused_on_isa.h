// One stretch of fused sums on one instruction set, under any model and from any accumulators:
// what Orders do not say (other models, c that is not 0) but the golden vectors do.
#ifndef BATCHVAR_TESTS_KERNELS_FUSED_ON_ISA_H_
#define BATCHVAR_TESTS_KERNELS_FUSED_ON_ISA_H_

#include <cstdint>
#include <vector>

#include "kernels/cpu/panel_job.h"

namespace batchvar {

// sums[m][n] += x[m][k] . w[n][k], as fp32 bits, in fused sums of `model`. n <= 32.
inline std::vector<uint32_t> AddFusedOn(Isa isa, const MmaModel& model, DType dtype,
                                        const uint16_t* x, const uint16_t* w, int64_t m, int64_t n,
                                        int64_t k, const uint32_t* sums, int64_t* fallbacks) {
  const GemmKernels& kernels = GemmKernelsOf(isa);
  const PackedMatrix weights = PackedMatrix::Pack(w, n, k, dtype);
  RowBatch batch;
  for (int64_t row = 0; row < m; ++row) batch.x.push_back(x + row * k);
  batch.list = SingleStretch(model, 0, k);
  PrepareBatch(kernels, &batch);
  for (int64_t group = 0; group < batch.num_groups(); ++group) {
    batch.packed.push_back(PackRows(batch.list, batch.x.data() + group * batch.group_rows,
                                    batch.RowsOf(group), dtype));
  }
  std::vector<float> lanes(m * kPanelColumns, 0.0f);
  for (int64_t i = 0; i < m * n; ++i) lanes[i / n * kPanelColumns + i % n] = FloatOf(sums[i]);
  PanelScratch scratch;
  RunStretch(kernels, weights, 0, batch, {0, batch.num_groups()}, batch.list.stretches[0],
             lanes.data(), &scratch);
  *fallbacks += scratch.fallbacks;
  std::vector<uint32_t> out(m * n);
  for (int64_t i = 0; i < m * n; ++i) out[i] = BitsOf(lanes[i / n * kPanelColumns + i % n]);
  return out;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_KERNELS_FUSED_ON_ISA_H_
