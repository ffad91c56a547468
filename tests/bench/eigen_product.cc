#include "tests/bench/eigen_product.h"

#include <Eigen/Core>

namespace batchvar {

void EigenProduct(const float* x, const float* w, int64_t m, int64_t n, int64_t k, float* out) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> left(x, m, k), right(w, n, k);
  Eigen::Map<Matrix> result(out, m, n);
  result.noalias() = left * right.transpose();
}

}  // namespace batchvar
