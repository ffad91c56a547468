// Proves that the headers of sim/numerics compile for the device: a kernel takes the plain parts
// of an Order by value, so both executors will walk one definition. `pieces` is a host vector; a
// launch passes it as a pointer and a count. Below, the same scalar functions that define bits on
// the host run in device code.
#include <cstdint>
#include <type_traits>

#include "sim/numerics/dtype.h"
#include "sim/numerics/elementary.h"
#include "sim/numerics/exact_sum.h"
#include "sim/numerics/order.h"
#include "sim/numerics/ordered_attention.h"
#include "sim/numerics/ordered_dot.h"
#include "sim/numerics/ordered_rows.h"
#include "sim/numerics/ordered_sum.h"
#include "sim/numerics/tensor_core.h"

namespace batchvar {
namespace {

// What a kernel is given of an Order. Copied bytewise, so it must stay trivial.
struct DeviceOrder {
  Arithmetic arithmetic;
  Combine combine;
  DType partial;
  DType output;
  int32_t block;
  int32_t slice_k;
  int32_t instr_k;
  int32_t num_pieces;
  const Range* pieces;
};
static_assert(std::is_trivially_copyable_v<DeviceOrder>);
static_assert(std::is_trivially_copyable_v<Range>);
static_assert(sizeof(Range) == 16);

__device__ int64_t SummedElements(const DeviceOrder& order) {
  int64_t elements = 0;
  for (int32_t i = 0; i < order.num_pieces; ++i) {
    elements += order.pieces[i].end - order.pieces[i].begin;
  }
  return elements;
}

__device__ bool IsWellFormed(const DeviceOrder& order) {
  if (order.combine == Combine::kButterfly) return order.num_pieces == 1 && order.slice_k > 1;
  const bool combines = order.combine != Combine::kNone;
  const bool keeps_16_bits = order.partial != DType::kFp32;
  return combines == (order.num_pieces > 1) && !(keeps_16_bits && !combines);
}

}  // namespace

__global__ void CheckOrder(DeviceOrder order, int64_t* elements, bool* well_formed) {
  *elements = SummedElements(order);
  *well_formed = IsWellFormed(order);
}

// One fused dot-product-add a thread: what a device run of the golden vectors calls.
__global__ void RunFusedDotAdd(MmaModel model, DType dtype, const uint16_t* a, const uint16_t* b,
                               const uint32_t* c, uint32_t* d, int32_t count) {
  const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const int64_t first = static_cast<int64_t>(i) * model.fused;
  d[i] = FusedDotAdd(model, dtype, a + first, 1, b + first, 1, c[i]);
}

__global__ void RunElementary(const float* x, uint32_t* results) {
  results[0] = BitsOf(Exp(x[0]));
  results[1] = BitsOf(InverseSqrt(x[0]));
  results[2] = BitsOf(Silu(x[0]));
  results[3] = Bf16Of(x[0]);
  results[4] = Fp16Of(x[0]);
}

__global__ void RunCombine(Combine combine, DType output, const float* partials, int64_t count,
                           float* sum) {
  *sum = CombinePartials(combine, output, partials, 1, count);
}

}  // namespace batchvar
