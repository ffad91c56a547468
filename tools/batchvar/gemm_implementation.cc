#include "tools/batchvar/gemm_implementation.h"

#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/cpu/gemm.h"
#include "sim/divergence/scalar_probe.h"
#include "sim/numerics/float_bits.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

absl::StatusOr<GemmSum> ScalarSum(const GemmElement& element) {
  return GemmSum{DotOfTerms(element.order, element.shape.dtype), ""};
}

// One output element through the executor's GEMM: its packing, its walk over the order, its
// kernels.
double ExecutorProduct(Isa isa, const GemmElement& element, const std::vector<float>& terms) {
  const DType dtype = element.shape.dtype;
  std::vector<uint16_t> column;
  for (const float term : terms) column.push_back(Narrow(term, dtype));
  const std::vector<uint16_t> ones(terms.size(), Narrow(1.0f, dtype));
  const PackedMatrix weights = PackedMatrix::Pack(column.data(), 1, std::ssize(terms), dtype);
  const std::vector<OrderStrip> strips = {{{0, 1}, element.order}};
  float sum = 0.0f;
  const GemmRow row{ones.data(), strips, &sum};
  WorkerPool pool(1);
  const GemmOutcome outcome = ExecuteGemm(isa, weights, {&row, 1}, &pool);
  return outcome.ok() ? double{sum} : std::nan("");
}

template <Isa kIsa>
absl::StatusOr<GemmSum> ExecutorSum(const GemmElement& element) {
  if (!HasIsa(kIsa)) {
    return ConfigError({.field = "--implementation"},
                       absl::StrCat("this CPU has no ", IsaName(kIsa)));
  }
  return GemmSum{
      [element](const std::vector<float>& terms) { return ExecutorProduct(kIsa, element, terms); },
      ""};
}

}  // namespace

const std::vector<GemmImplementation>& GemmImplementations() {
  static const std::vector<GemmImplementation> implementations = {
      {"scalar", true, ScalarSum},
      {"avx2", true, ExecutorSum<Isa::kAvx2>},
      {"avx512", true, ExecutorSum<Isa::kAvx512>},
      {"eigen", false, EigenSum},
      {"openblas", false, OpenBlasSum},
  };
  return implementations;
}

}  // namespace batchvar
