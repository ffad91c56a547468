// Eigen's fp32 product in a source of its own: it is compiled for AVX2 and FMA, which the rest of
// the bench must not be.
#ifndef BATCHVAR_TESTS_BENCH_EIGEN_PRODUCT_H_
#define BATCHVAR_TESTS_BENCH_EIGEN_PRODUCT_H_

#include <cstdint>

namespace batchvar {

// out[m][n] = x[m][k] w[n][k]^T, row-major, one thread. Needs a CPU with AVX2 and FMA on x86-64.
void EigenProduct(const float* x, const float* w, int64_t m, int64_t n, int64_t k, float* out);

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_BENCH_EIGEN_PRODUCT_H_
