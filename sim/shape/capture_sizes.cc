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
  }
  DropAbove(max_num_batched_tokens, &sizes);
  return sizes;
}

Padding::Padding(std::vector<int32_t> ascending_sizes) : sizes_(std::move(ascending_sizes)) {
  if (sizes_.empty()) return;
  BV_CHECK(sizes_.front() >= 1 && std::is_sorted(sizes_.begin(), sizes_.end()));
  padded_.reserve(static_cast<size_t>(sizes_.back()) + 1);
  padded_.push_back(0);  // an empty step stays empty
  for (const int32_t size : sizes_) padded_.resize(static_cast<size_t>(size) + 1, size);
}

int64_t Padding::PaddedM(int64_t m) const {
  BV_CHECK(m >= 0);
  return m < static_cast<int64_t>(padded_.size()) ? padded_[static_cast<size_t>(m)] : m;
}

}  // namespace batchvar
