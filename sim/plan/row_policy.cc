#include "sim/plan/row_policy.h"

#include <algorithm>
#include <numeric>

#include "sim/base/check.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxBlock = 1024;          // threads; FlashInfer fb28d724 and vLLM 0.32
constexpr int64_t kVllmManyRows = 256;       // vLLM 0.32 layernorm_kernels.cu: from this many rows
constexpr int64_t kVllmManyRowsBlock = 256;  // on, smaller blocks share an SM

constexpr int64_t kVectorBytes = 16;  // one load of a thread

// Threads of one row: each one loads vectors of up to 16 bytes that divide the row.
int32_t BlockFor(int64_t width, DType dtype, int64_t max_block) {
  const int64_t vector = std::gcd(kVectorBytes / DTypeBytes(dtype), width);
  return static_cast<int32_t>(std::min(width / vector, max_block));
}

}  // namespace

Order NormOrder(const NormPolicySpec& spec, int64_t num_rows, int64_t width, DType dtype) {
  BV_CHECK(width >= 1);
  int64_t max_block = kMaxBlock;
  if (spec.kind == NormPolicyKind::kNormVllm && num_rows >= kVllmManyRows) {
    max_block = kVllmManyRowsBlock;
  }
  Order order;
  order.arithmetic = Arithmetic::kRowBlocks;
  order.partial = DType::kFp32;
  order.output = dtype;
  order.block = BlockFor(width, dtype, max_block);
  order.pieces = {{0, width}};
  return order;
}

PolicySource NormSource(const NormPolicySpec& spec) {
  switch (spec.kind) {
    case NormPolicyKind::kNormInvariant: return {"FlashInfer", "fb28d724", "2026-08-22"};
    case NormPolicyKind::kNormVllm: return {"vLLM", "0.32.0", "2026-10"};
  }
  return {};
}

}  // namespace batchvar
