// A GEMM case and its run through the CUDA executor's host API on the shim.
#ifndef BATCHVAR_TESTS_KERNELS_SIMT_CUDA_GEMM_RUN_H_
#define BATCHVAR_TESTS_KERNELS_SIMT_CUDA_GEMM_RUN_H_

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/gemm.h"
#include "kernels/simt/device.h"
#include "sim/numerics/ordered_dot.h"
#include "sim/plan/plan.h"
#include "tests/kernels/operands.h"

namespace batchvar {

struct CudaGemmCase {
  DType dtype = DType::kBf16;
  Family family = Family::kGaussian;
  int64_t m = 1, n = 1, k = 1;
  int32_t compute_capability = 80;
  std::vector<uint16_t> x;         // [m][k]
  std::vector<uint16_t> w;         // [n][k]
  std::vector<OrderStrip> strips;  // of every row
  GemmWorkOptions options;

  std::string Words() const {
    return std::string(FamilyName(family)) + " " + DTypeName(dtype) + " " + std::to_string(m) +
           " x " + std::to_string(n) + " x " + std::to_string(k) + " on sm_" +
           std::to_string(compute_capability) + ", " + CombineName(strips[0].order.combine) + ", " +
           std::to_string(strips[0].order.pieces.size()) + " pieces, " +
           std::to_string(strips[0].order.slice_k) + " slices";
  }
};

inline void FillOperands(RandomStream* random, CudaGemmCase* c) {
  c->x = RandomOperands(c->family, c->dtype, 1.0, c->m, c->k, random);
  c->w = RandomOperands(c->family, c->dtype, 0.03, c->n, c->k, random);
}

struct CudaGemmResult {
  std::string words;  // what went wrong
  std::vector<float> sums;
  std::vector<uint16_t> y;
};

// The definition: OrderedDot of every output.
inline CudaGemmResult DefinedGemm(const CudaGemmCase& c) {
  CudaGemmResult result;
  result.sums.resize(c.m * c.n);
  result.y.resize(c.m * c.n);
  for (const OrderStrip& strip : c.strips) {
    for (int64_t row = 0; row < c.m; ++row) {
      for (int64_t column = strip.columns.begin; column < strip.columns.end; ++column) {
        const float sum =
            OrderedDot(strip.order, {c.dtype, &c.x[row * c.k], 1, &c.w[column * c.k], 1});
        result.sums[row * c.n + column] = sum;
        result.y[row * c.n + column] = Narrow(sum, strip.order.output);
      }
    }
  }
  return result;
}

// Device memory that is freed at the end of a scope.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : bytes_(values.size() * sizeof(T)) {
    EXPECT_EQ(cudaMalloc(&memory_, bytes_), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(memory_, values.data(), bytes_, cudaMemcpyHostToDevice, nullptr),
              cudaSuccess);
  }
  ~OnDevice() { EXPECT_EQ(cudaFree(memory_), cudaSuccess); }
  T* get() const { return static_cast<T*>(memory_); }
  void CopyTo(std::vector<T>* values) const {
    EXPECT_EQ(cudaMemcpyAsync(values->data(), memory_, bytes_, cudaMemcpyDeviceToHost, nullptr),
              cudaSuccess);
  }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

inline std::vector<GemmRegion> RegionsOf(const CudaGemmCase& c) {
  std::vector<GemmRegion> regions;
  for (const OrderStrip& strip : c.strips) {
    regions.push_back({{0, static_cast<int32_t>(c.m), static_cast<int32_t>(strip.columns.begin),
                        static_cast<int32_t>(strip.columns.end)},
                       &strip.order});
  }
  return regions;
}

inline CudaGemmResult RunWork(const CudaGemmCase& c, const GemmWork& work, uint64_t seed) {
  simt::SetDevice({c.compute_capability, seed});
  CudaGemmResult result;
  result.sums.resize(c.m * c.n);
  result.y.resize(c.m * c.n);
  const OnDevice<uint16_t> x(c.x), w(c.w), y(result.y);
  const OnDevice<float> sums(result.sums);
  GemmBuffers buffers;
  const GemmOperands operands{c.dtype, x.get(), w.get(), sums.get(), y.get()};
  CudaStatus status = AllocateGemmBuffers(work, nullptr, &buffers);
  if (status.ok()) status = LaunchGemm(work, buffers, operands, nullptr);
  result.words = status.words + (status.ok() ? "" : " " + simt::LastFault());
  EXPECT_TRUE(FreeGemmBuffers(&buffers).ok());
  sums.CopyTo(&result.sums);
  y.CopyTo(&result.y);
  return result;
}

inline CudaGemmResult RunCuda(const CudaGemmCase& c, uint64_t seed) {
  GemmWork work;
  const std::string refused = PlanGemmWork(c.m, c.n, c.k, RegionsOf(c), c.options, &work);
  if (!refused.empty()) return {refused, {}, {}};
  return RunWork(c, work, seed);
}

// Outputs whose bits differ, fp32 or 16-bit; -1 if the run failed.
inline int64_t Differing(const CudaGemmResult& a, const CudaGemmResult& b) {
  if (!a.words.empty() || !b.words.empty() || a.sums.size() != b.sums.size()) return -1;
  int64_t count = 0;
  for (size_t i = 0; i < a.sums.size(); ++i) {
    count += BitsOf(a.sums[i]) != BitsOf(b.sums[i]) || a.y[i] != b.y[i];
  }
  return count;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_KERNELS_SIMT_CUDA_GEMM_RUN_H_
