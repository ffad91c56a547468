// Proves that the headers of sim/numerics compile for the device: a kernel takes the plain parts
// of an Order by value, so both executors will walk one definition. `pieces` is a host vector; a
// launch passes it as a pointer and a count.
#include <cstdint>
#include <type_traits>

#include "sim/numerics/dtype.h"
#include "sim/numerics/order.h"

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

}  // namespace batchvar
