#include "sim/shape/capture_sizes.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"

namespace batchvar {
namespace {

constexpr int32_t kLargestDefault = 512;     // vLLM 0.9.2 to 0.32
constexpr int32_t kLargestBlackwell = 1024;  // vLLM 0.32 on compute capability 10.x
constexpr int32_t kFineUpTo = 256;           // vLLM 0.12: steps of 8 below, of 16 from here on

// {1, 2, 4}, then 8, 16, ... up to `largest`. `coarse`: steps of 16 from kFineUpTo on.
std::vector<int32_t> Ladder(int32_t largest, bool coarse) {
  std::vector<int32_t> sizes = {1, 2, 4};
  int32_t size = 8;
  while (size <= largest) {
    sizes.push_back(size);
    size += coarse && size >= kFineUpTo ? 16 : 8;
  }
  return sizes;
}

// first, first + step, ... up to `last`.
void AddSteps(int32_t first, int32_t last, int32_t step, std::vector<int32_t>* sizes) {
  for (int32_t size = first; size <= last; size += step) sizes->push_back(size);
}

void DropAbove(int32_t largest, std::vector<int32_t>* sizes) {
  std::erase_if(*sizes, [largest](int32_t size) { return size > largest; });
}

std::vector<int32_t> Vllm032Sizes(int32_t max_num_seqs, int32_t budget, bool blackwell) {
  const int32_t limit = blackwell ? kLargestBlackwell : kLargestDefault;
  const int32_t largest =
      std::min(static_cast<int32_t>(std::min<int64_t>(2 * int64_t{max_num_seqs}, limit)), budget);
  std::vector<int32_t> sizes = Ladder(largest, /*coarse=*/true);
  DropAbove(largest, &sizes);
  // The exact limits join the ladder, so that a full batch is captured as it is (vllm#57355).
  if (budget <= largest) sizes.push_back(budget);
  if (max_num_seqs <= largest && max_num_seqs <= budget) sizes.push_back(max_num_seqs);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace

std::vector<int32_t> CaptureSizes(CaptureRule rule, int32_t max_num_seqs,
                                  int32_t max_num_batched_tokens, int32_t compute_capability) {
  BV_CHECK(max_num_seqs >= 1 && max_num_batched_tokens >= 1);
  const int32_t by_seqs =
      static_cast<int32_t>(std::min<int64_t>(2 * int64_t{max_num_seqs}, kLargestDefault));
  std::vector<int32_t> sizes;
  switch (rule) {
    case CaptureRule::kVllm092: sizes = Ladder(kLargestDefault, /*coarse=*/false); break;
    case CaptureRule::kVllm011: sizes = Ladder(by_seqs, /*coarse=*/false); break;
    case CaptureRule::kVllm012:
      sizes = Ladder(by_seqs, /*coarse=*/true);
      DropAbove(by_seqs, &sizes);
      break;
    case CaptureRule::kVllm032:
      return Vllm032Sizes(max_num_seqs, max_num_batched_tokens, compute_capability / 10 == 10);
    case CaptureRule::kSglang2025:
    case CaptureRule::kSglang0523: BV_CHECK(false);  // SglangDecodeSizes()
  }
  DropAbove(max_num_batched_tokens, &sizes);
  return sizes;
}

std::vector<int32_t> SglangDecodeSizes(CaptureRule rule, int32_t cuda_graph_max_bs) {
  BV_CHECK(IsSglang(rule) && cuda_graph_max_bs >= 1);
  std::vector<int32_t> sizes = {1, 2, 4, 8};
  if (rule == CaptureRule::kSglang2025) {
    AddSteps(16, cuda_graph_max_bs, 8, &sizes);
  } else {
    sizes.push_back(12);
    AddSteps(16, kFineUpTo, 8, &sizes);
    AddSteps(272, 496, 16, &sizes);
    AddSteps(512, cuda_graph_max_bs, 32, &sizes);
  }
  DropAbove(cuda_graph_max_bs, &sizes);
  return sizes;
}

int32_t SglangLargestBatch(int64_t memory_bytes, int32_t tp) {
  const int64_t gib = memory_bytes >> 30;
  const bool few_ranks = tp < 4;
  if (gib < 20) return 8;
  if (gib < 35) return few_ranks ? 24 : 80;
  if (gib < 60) return few_ranks ? 32 : 160;
  if (gib < 160) return few_ranks ? 256 : 512;
  return 512;
}

std::vector<int32_t> SglangPrefillSizes(int32_t max_tokens) {
  std::vector<int32_t> sizes;
  AddSteps(4, 32, 4, &sizes);
  AddSteps(48, 256, 16, &sizes);
  AddSteps(288, 512, 32, &sizes);
  AddSteps(576, 1024, 64, &sizes);
  AddSteps(1280, 4096, 256, &sizes);
  AddSteps(4608, max_tokens, 512, &sizes);
  DropAbove(max_tokens, &sizes);
  return sizes;
}

namespace {

std::vector<int32_t> PaddedByM(const std::vector<int32_t>& sizes) {
  std::vector<int32_t> padded;
  if (sizes.empty()) return padded;
  BV_CHECK(sizes.front() >= 1 && std::is_sorted(sizes.begin(), sizes.end()));
  padded.reserve(static_cast<size_t>(sizes.back()) + 1);
  padded.push_back(0);  // an empty step stays empty
  for (const int32_t size : sizes) padded.resize(static_cast<size_t>(size) + 1, size);
  return padded;
}

bool EverybodyDecodes(const StepBatch& batch) {
  return std::all_of(batch.rows.begin(), batch.rows.end(),
                     [](const ScheduledRow& row) { return row.phase == Phase::kDecode; });
}

}  // namespace

Padding::Padding(std::vector<int32_t> ascending_sizes)
    : sizes_(std::move(ascending_sizes)), padded_(PaddedByM(sizes_)) {}

Padding Padding::ByPhase(std::vector<int32_t> decode_sizes, std::vector<int32_t> prefill_sizes) {
  Padding padding(std::move(decode_sizes));
  padding.by_phase_ = true;
  padding.padded_prefill_ = PaddedByM(prefill_sizes);
  return padding;
}

int64_t Padding::PaddedM(const StepBatch& batch) const {
  const bool as_prefill = by_phase_ && !EverybodyDecodes(batch);
  return Lookup(as_prefill ? padded_prefill_ : padded_, batch.M());
}

int64_t Padding::Lookup(const std::vector<int32_t>& padded, int64_t m) {
  BV_CHECK(m >= 0);
  return m < static_cast<int64_t>(padded.size()) ? padded[static_cast<size_t>(m)] : m;
}

}  // namespace batchvar
