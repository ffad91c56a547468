// How fast the exact GEMM is, beside an fp32 FMA chain of the same blocking, Eigen and OpenBLAS.
//   build/release/tests/bench/gemm_bench [seconds for each shape]
// One thread, whose own CPU time counts. Variants take turns and each keeps its best time, so that
// other load on the machine hits all alike; read the ratios, not the rates. Nothing here is a test.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/gemm.h"
#include "sim/base/rng.h"
#include "sim/numerics/ordered_dot.h"
#include "tests/bench/eigen_product.h"
#include "tests/bench/narrow_chain.h"

namespace batchvar {
namespace {

constexpr char kNarrowChain[] = "fma 16 columns";

struct Variant {
  std::string name;
  std::function<void()> run;
  double share = 1;  // of the whole product that one run computes
  double best_s = 1e30;
};

using SgemmFunction = void (*)(int, int, int, int, int, int, float, const float*, int, const float*,
                               int, float, float*, int);

// cblas_sgemm on one thread, or null where OpenBLAS is not installed.
SgemmFunction FindOpenBlas() {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto set_threads =
      reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const auto core = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"));
  if (set_threads != nullptr) set_threads(1);
  const char* forced = std::getenv("OPENBLAS_CORETYPE");
  std::printf("OpenBLAS: core %s, OPENBLAS_CORETYPE %s\n", core != nullptr ? core() : "?",
              forced != nullptr ? forced : "unset");
  return reinterpret_cast<SgemmFunction>(dlsym(library, "cblas_sgemm"));
}

struct Problem {
  int64_t m, n, k;
  DType dtype;
  std::vector<uint16_t> x, w;         // [m][k], [n][k]
  std::vector<float> wide_x, wide_w;  // the same as fp32
  std::vector<float> out;
  PackedMatrix packed;
};

Problem MakeProblem(int64_t m, int64_t n, int64_t k, DType dtype) {
  Problem p{m, n, k, dtype, {}, {}, {}, {}, std::vector<float>(m * n), {}};
  RandomStream random(1, "gemm_bench");
  // Reusing a million normals keeps the set-up short; no row repeats another's alignment.
  std::vector<float> normals(1000003);
  for (float& x : normals) x = static_cast<float>(random.NextNormal());
  const auto fill = [&](int64_t count, float scale, std::vector<uint16_t>* words,
                        std::vector<float>* wide) {
    for (int64_t i = 0; i < count; ++i) {
      words->push_back(Narrow(scale * normals[i % std::ssize(normals)], dtype));
      wide->push_back(Widen(words->back(), dtype));
    }
  };
  fill(m * k, 1.0f, &p.x, &p.wide_x);
  fill(n * k, 0.03f, &p.w, &p.wide_w);
  p.packed = PackedMatrix::Pack(p.w.data(), n, k, dtype);
  return p;
}

// The executor under one order for all rows.
std::function<void()> Exact(Problem* p, Isa isa, Arithmetic arithmetic, WorkerPool* pool,
                            GemmOutcome* outcome) {
  Order order;
  order.arithmetic = arithmetic;
  order.output = p->dtype;
  order.pieces = {{0, p->k}};
  const std::vector<OrderStrip> strips = {{{0, p->n}, order}};
  return [=] {
    std::vector<GemmRow> rows;
    for (int64_t row = 0; row < p->m; ++row) {
      rows.push_back({&p->x[row * p->k], strips, &p->out[row * p->n]});
    }
    *outcome = ExecuteGemm(isa, p->packed, rows, pool);
  };
}

// The definition itself for a few outputs; it takes a million times longer than one.
Variant Definition(const Problem* p) {
  const int64_t outputs = std::min<int64_t>(p->n, 64);
  const auto run = [p, outputs] {
    Order order;
    order.pieces = {{0, p->k}};
    volatile float sink = 0;
    for (int64_t column = 0; column < outputs; ++column) {
      sink = OrderedDot(order, {p->dtype, p->x.data(), 1, &p->w[column * p->k], 1});
    }
    static_cast<void>(sink);
  };
  return {"scalar reference", run, static_cast<double>(outputs) / static_cast<double>(p->m * p->n)};
}

// CPU time of this thread: a wall clock would count what others on the machine take.
double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void TakeTurns(double seconds, std::vector<Variant>* variants) {
  const double end = ThreadSeconds() + seconds;
  constexpr int kFewestRounds = 5;
  for (int round = 0; round < kFewestRounds || ThreadSeconds() < end; ++round) {
    for (Variant& variant : *variants) {
      const double begin = ThreadSeconds();
      variant.run();
      variant.best_s = std::min(variant.best_s, (ThreadSeconds() - begin) / variant.share);
    }
  }
}

double TimeOf(const std::vector<Variant>& variants, const std::string& name) {
  for (const Variant& variant : variants) {
    if (variant.name == name) return variant.best_s;
  }
  return 0;
}

void PrintRatios(const std::vector<Variant>& variants) {
  for (const Isa isa : kAllIsas) {
    if (isa == Isa::kScalar || !HasIsa(isa)) continue;
    const std::string name = IsaName(isa);
    const double exact = TimeOf(variants, "exact sm_90 " + name);
    std::printf("  exact sm_90 %s against", name.c_str());
    for (const std::string& other :
         {"fma chain " + name, std::string(kNarrowChain), std::string("eigen avx2"),
          std::string("openblas"), std::string("scalar reference")}) {
      const double time = TimeOf(variants, other);
      if (time > 0) std::printf("  %s %.3f", other.c_str(), time / exact);
    }
    std::printf("\n");
  }
}

void Measure(int64_t m, int64_t n, int64_t k, DType dtype, double seconds, SgemmFunction sgemm) {
  Problem p = MakeProblem(m, n, k, dtype);
  WorkerPool pool(1);
  GemmOutcome exact_outcome, other_outcome;
  std::vector<Variant> variants;
  for (const Isa isa : kAllIsas) {
    if (isa == Isa::kScalar || !HasIsa(isa)) continue;
    const std::string name = IsaName(isa);
    variants.push_back(
        {"exact sm_90 " + name, Exact(&p, isa, Arithmetic::kMmaSm90, &pool, &exact_outcome)});
    variants.push_back(
        {"exact sm_80 " + name, Exact(&p, isa, Arithmetic::kMmaSm80, &pool, &other_outcome)});
    variants.push_back(
        {"fma chain " + name, Exact(&p, isa, Arithmetic::kFmaChain, &pool, &other_outcome)});
  }
  if (m == 1 && dtype == DType::kBf16) {
    p.out.resize(p.packed.num_panels() * kPanelColumns);
    variants.push_back(
        {kNarrowChain, [&] { NarrowChain(p.wide_x.data(), p.packed, p.out.data()); }});
  }
  variants.push_back({"eigen avx2", [&] {
                        EigenProduct(p.wide_x.data(), p.wide_w.data(), m, n, k, p.out.data());
                      }});
  if (sgemm != nullptr) {
    variants.push_back({"openblas", [&] {  // row-major, the second operand transposed
                          sgemm(101, 111, 112, static_cast<int>(m), static_cast<int>(n),
                                static_cast<int>(k), 1.0f, p.wide_x.data(), static_cast<int>(k),
                                p.wide_w.data(), static_cast<int>(k), 0.0f, p.out.data(),
                                static_cast<int>(n));
                        }});
  }
  variants.push_back(Definition(&p));
  TakeTurns(seconds, &variants);

  std::printf("\n%lld x %lld x %lld %s (M x N x K), GMAC/s\n", static_cast<long long>(m),
              static_cast<long long>(n), static_cast<long long>(k), DTypeName(dtype));
  for (const Variant& variant : variants) {
    std::printf("  %-20s %8.3f\n", variant.name.c_str(),
                static_cast<double>(m) * static_cast<double>(n * k) / variant.best_s * 1e-9);
  }
  PrintRatios(variants);
  std::printf("  guard fall-backs: %lld of %lld fused sums\n",
              static_cast<long long>(exact_outcome.fallbacks),
              static_cast<long long>(exact_outcome.fused_sums));
}

int Run(double seconds) {
  if (!HasIsa(Isa::kAvx2)) {
    std::printf("gemm_bench needs a CPU with AVX2 and FMA\n");
    return 4;
  }
  const SgemmFunction sgemm = FindOpenBlas();
  if (sgemm == nullptr)
    std::printf("OpenBLAS: missing (libopenblas.so.0), its rows are left out\n");
  std::printf("best instruction set here: %s\n", IsaName(BestIsa()));
  Measure(64, 576, 1536, DType::kBf16, seconds, sgemm);
  Measure(64, 576, 1536, DType::kFp16, seconds, sgemm);
  Measure(4, 1536, 576, DType::kBf16, seconds, sgemm);
  Measure(1, 1536, 576, DType::kBf16, seconds, sgemm);
  Measure(1, 1536, 576, DType::kFp16, seconds, sgemm);
  Measure(1, 49152, 576, DType::kBf16, seconds, sgemm);
  Measure(1, 8192, 4096, DType::kBf16, seconds, sgemm);
  Measure(16, 8192, 4096, DType::kBf16, seconds, sgemm);
  return 0;
}

}  // namespace
}  // namespace batchvar

int main(int argc, char** argv) { return batchvar::Run(argc > 1 ? std::atof(argv[1]) : 3.0); }
