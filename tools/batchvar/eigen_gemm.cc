#include <Eigen/Core>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/batchvar/gemm_implementation.h"

namespace batchvar {
namespace {

struct Matrices {
  Eigen::MatrixXf x, w, y;
};

}  // namespace

absl::StatusOr<GemmSum> EigenSum(const GemmElement& element) {
  const GemmShape& shape = element.shape;
  const auto matrices = std::make_shared<Matrices>();
  matrices->x.setOnes(shape.m, shape.k);
  matrices->w.setZero(shape.k, shape.n);
  matrices->y.setZero(shape.m, shape.n);
  GemmSum sum;
  sum.library = absl::StrCat("Eigen ", EIGEN_WORLD_VERSION, ".", EIGEN_MAJOR_VERSION, ".",
                             EIGEN_MINOR_VERSION, ", ", Eigen::SimdInstructionSetsInUse());
  sum.sum = [matrices, row = element.row,
             column = element.column](const std::vector<float>& terms) -> double {
    // Two terms change from one probe to the next.
    for (int64_t k = 0; k < std::ssize(terms); ++k) {
      if (matrices->w(k, 0) != terms[k]) matrices->w.row(k).setConstant(terms[k]);
    }
    matrices->y.noalias() = matrices->x * matrices->w;
    return matrices->y(row, column);
  };
  return sum;
}

}  // namespace batchvar
