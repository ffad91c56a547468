// What the cases share that are decided by execution: a GEMM plan by policy, seeded data, and the
// two executions side by side on the fastest instruction set of this CPU.
#ifndef BATCHVAR_TESTS_CASES_CASE_OPERANDS_H_
#define BATCHVAR_TESTS_CASES_CASE_OPERANDS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/cpu/gemm.h"
#include "kernels/op_execution.h"
#include "kernels/seeded_operands.h"
#include "sim/config/load_experiment.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/gemm_policy.h"

namespace batchvar {

inline DeviceSpec CaseDevice(const std::string& name = "h100_sxm") {
  const auto device = LoadDevice(name);
  EXPECT_TRUE(device.ok()) << device.status();
  return *device;
}

// Plans [m, n] = [m, k] x [n, k]^T in bf16 under a policy as YAML takes it.
inline GemmPlan CaseGemmPlan(const std::string& policy, int64_t m, int64_t n, int64_t k,
                             const std::string& device = "h100_sxm") {
  const auto spec = LoadGemmPolicy(policy, {}, "policy");
  EXPECT_TRUE(spec.ok()) << spec.status();
  return MakeGemmPolicy(*spec)->Plan({m, n, k, DType::kBf16}, CaseDevice(device));
}

inline GemmData CaseGemmData(int64_t rows, int64_t columns, int64_t k, uint64_t seed = 1) {
  GemmData data;
  data.rows = rows;
  data.columns = columns;
  data.k = k;
  data.x = SeededRows(seed, "case.x", rows, k, data.dtype, 1.0f, DataFamily::kNormal);
  data.w = SeededRows(seed, "case.w", columns, k, data.dtype, 0.03f, DataFamily::kNormal);
  return data;
}

inline Execution CaseExecution(const GemmData& data, const RowOrders& a, const RowOrders& b) {
  WorkerPool pool(1);
  Execution execution;
  EXPECT_EQ(ExecuteGemmTwice(data, a, b, {BestIsa(), &pool}, &execution), FloatFault::kNone);
  return execution;
}

// The fp32 results of every row of data, row after row, each summed under `orders`. Where there are
// fewer columns than these have, the first ones.
inline std::vector<float> CaseResults(const GemmData& data, const RowOrders& orders) {
  WorkerPool pool(1);
  const PackedMatrix weights = PackedMatrix::Pack(data.w.data(), data.columns, data.k, data.dtype);
  std::vector<float> out(data.rows * data.columns);
  std::vector<OrderStrip> strips;
  for (OrderStrip strip : orders.strips) {
    strip.columns.end = std::min(strip.columns.end, data.columns);
    if (strip.columns.begin < strip.columns.end) strips.push_back(strip);
  }
  std::vector<GemmRow> rows;
  for (int64_t row = 0; row < data.rows; ++row) {
    rows.push_back({&data.x[row * data.k], strips, &out[row * data.columns]});
  }
  EXPECT_TRUE(ExecuteGemm(BestIsa(), weights, rows, &pool).ok());
  return out;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_CASES_CASE_OPERANDS_H_
