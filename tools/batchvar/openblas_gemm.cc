// OpenBLAS is loaded when it is asked for, so that nothing needs it to build or to start.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/gemm_implementation.h"

namespace batchvar {
namespace {

constexpr char kLibrary[] = "libopenblas.so.0";

// The C interface of OpenBLAS 0.3 with 32-bit integers, as Debian builds it.
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;
using Sgemm = void (*)(int layout, int transpose_a, int transpose_b, int m, int n, int k,
                       float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                       float* c, int ldc);
using SetNumThreads = void (*)(int threads);
using Text = char* (*)();

struct OpenBlas {
  Sgemm sgemm = nullptr;
  std::string name;
};

absl::Status Unusable(const std::string& why) {
  return ConfigError(
      {.field = "--implementation"},
      absl::StrCat("openblas needs ", kLibrary, ", ", why, "; Debian's package is libopenblas0"));
}

absl::StatusOr<OpenBlas> Load() {
  // Its threads start when it is loaded, unless it is told before.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Unusable("which cannot be loaded here");
  OpenBlas blas;
  blas.sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  const auto set_threads =
      reinterpret_cast<SetNumThreads>(dlsym(library, "openblas_set_num_threads"));
  const auto config = reinterpret_cast<Text>(dlsym(library, "openblas_get_config"));
  const auto core = reinterpret_cast<Text>(dlsym(library, "openblas_get_corename"));
  if (blas.sgemm == nullptr || set_threads == nullptr || config == nullptr || core == nullptr) {
    return Unusable("and the one found lacks cblas_sgemm or openblas_get_config");
  }
  set_threads(1);
  // "OpenBLAS 0.3.21 ...": options of the build follow.
  const std::string words = config();
  const size_t version = words.find(' ');
  const size_t end = version == std::string::npos ? version : words.find(' ', version + 1);
  blas.name = absl::StrCat(words.substr(0, end), ", ", core());
  return blas;
}

struct Matrices {
  std::vector<float> x, w, y;
};

}  // namespace

absl::StatusOr<GemmSum> OpenBlasSum(const GemmElement& element) {
  static const absl::StatusOr<OpenBlas> blas = Load();
  if (!blas.ok()) return blas.status();
  const auto m = static_cast<int>(element.shape.m);
  const auto n = static_cast<int>(element.shape.n);
  const auto k = static_cast<int>(element.shape.k);
  const auto matrices = std::make_shared<Matrices>();
  matrices->x.assign(element.shape.m * element.shape.k, 1.0f);
  matrices->w.assign(element.shape.k * element.shape.n, 0.0f);
  matrices->y.assign(element.shape.m * element.shape.n, 0.0f);
  const int64_t place = element.row * element.shape.n + element.column;
  GemmSum sum;
  sum.library = blas->name;
  sum.sum = [matrices, m, n, k, place,
             sgemm = blas->sgemm](const std::vector<float>& terms) -> double {
    // Two terms change from one probe to the next.
    for (int64_t i = 0; i < k; ++i) {
      float* row = matrices->w.data() + i * n;
      if (row[0] != terms[i]) std::fill(row, row + n, terms[i]);
    }
    sgemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1.0f, matrices->x.data(), k,
          matrices->w.data(), n, 0.0f, matrices->y.data(), n);
    return matrices->y[place];
  };
  return sum;
}

}  // namespace batchvar
