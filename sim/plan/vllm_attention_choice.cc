#include "sim/plan/vllm_attention_choice.h"

#include "sim/base/check.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

constexpr int64_t kPagedV1MaxLen = 8192;  // v1 keeps a row of scores in shared memory
constexpr int64_t kPagedEnoughBlocks = 512;

constexpr int64_t kCascadeMinPrefix = 256;
constexpr int64_t kCascadeMinRequests = 8;
constexpr int64_t kCascadeTile = 128;  // of queries and of KV, in the performance model

}  // namespace

PagedChoice ChoosePagedKernel(int64_t max_kv_len, int64_t num_seqs, int64_t q_heads) {
  PagedChoice choice;
  choice.partitions = CeilDiv(max_kv_len, kPagedPartition);
  choice.v2 = max_kv_len > kPagedV1MaxLen ||
              (choice.partitions > 1 && num_seqs * q_heads <= kPagedEnoughBlocks);
  return choice;
}

CascadeChoice ChooseCascade(const CascadeInput& input) {
  BV_CHECK(input.kv_heads >= 1 && input.q_heads % input.kv_heads == 0);
  if (input.common_prefix < kCascadeMinPrefix) return {false, CascadeReason::kShortPrefix};
  if (input.num_requests < kCascadeMinRequests) return {false, CascadeReason::kFewRequests};
  const int64_t group = input.q_heads / input.kv_heads;
  if (!input.all_decode || group == 1) return {true, CascadeReason::kNoSplitKv};
  const int64_t prefix_tiles = CeilDiv(input.common_prefix, kCascadeTile);
  const int64_t cascade_blocks = input.q_heads * CeilDiv(input.num_requests, kCascadeTile);
  const int64_t decode_blocks =
      input.num_requests * input.kv_heads * CeilDiv(group, kCascadeTile) * prefix_tiles;
  CascadeChoice choice;
  choice.cascade_time = CeilDiv(cascade_blocks, input.sm_count) * prefix_tiles;
  choice.flash_decoding_time = CeilDiv(decode_blocks, input.sm_count);
  choice.use = choice.cascade_time < choice.flash_decoding_time;
  choice.reason = choice.use ? CascadeReason::kFaster : CascadeReason::kSlower;
  return choice;
}

}  // namespace batchvar
