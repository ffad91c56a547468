// The programs that `reveal gemm` can ask for one output element of Y[M,N] = X[M,K] W[K,N]. A new
// one is a function and a line in GemmImplementations().
#ifndef BATCHVAR_TOOLS_BATCHVAR_GEMM_IMPLEMENTATION_H_
#define BATCHVAR_TOOLS_BATCHVAR_GEMM_IMPLEMENTATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/divergence/probe_terms.h"
#include "sim/plan/plan.h"

namespace batchvar {

struct GemmElement {
  GemmShape shape;
  int64_t row = 0;
  int64_t column = 0;
  Order order;  // of the element in its plan; empty for a program that does not execute plans
};

// Adds K terms as the program adds the products of the element: X is one everywhere and every
// column of W holds the terms.
struct GemmSum {
  TermSum sum;
  std::string library;  // version and code path, on which the tree depends; empty for our own
};

struct GemmImplementation {
  const char* name;
  bool executes_plans;  // then its tree has to be that of its plan
  absl::StatusOr<GemmSum> (*sum_of)(const GemmElement& element);
};

const std::vector<GemmImplementation>& GemmImplementations();

// Eigen::MatrixXf, as this program was compiled.
absl::StatusOr<GemmSum> EigenSum(const GemmElement& element);
// cblas_sgemm of the libopenblas.so.0 that the loader finds, on one thread. Row-major. An error
// that names the package where there is none.
absl::StatusOr<GemmSum> OpenBlasSum(const GemmElement& element);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_GEMM_IMPLEMENTATION_H_
