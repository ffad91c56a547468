#include "tools/batchvar/gemm_implementation.h"

#include "sim/divergence/scalar_probe.h"

namespace batchvar {
namespace {

absl::StatusOr<GemmSum> ScalarSum(const GemmElement& element) {
  return GemmSum{DotOfTerms(element.order, element.shape.dtype), ""};
}

}  // namespace

const std::vector<GemmImplementation>& GemmImplementations() {
  static const std::vector<GemmImplementation> implementations = {
      {"scalar", true, ScalarSum},
      {"eigen", false, EigenSum},
      {"openblas", false, OpenBlasSum},
  };
  return implementations;
}

}  // namespace batchvar
