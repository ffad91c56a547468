#include "tests/property/random_case.h"

#include <algorithm>
#include <sstream>

#include "sim/base/rng.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : stream_(seed, "property_cases") {}
  int32_t In(int32_t low, int32_t high) {
    return low + static_cast<int32_t>(stream_.NextBelow(static_cast<uint64_t>(high - low) + 1));
  }
  bool OneIn(int32_t n) { return In(1, n) == 1; }

 private:
  RandomStream stream_;
};

SchedulerPolicy RandomPolicy(Dice* dice) {
  switch (dice->In(0, 13)) {
    case 0: return SchedulerPolicy::kStatic;
    case 1: return SchedulerPolicy::kOrca;
    case 2:
    case 3:
    case 4:
    case 5:
    case 6: return SchedulerPolicy::kSglang;
    default: return SchedulerPolicy::kVllmV1;
  }
}

SchedulerConfig RandomSglang(Dice* dice) {
  SchedulerConfig config;
  config.policy = SchedulerPolicy::kSglang;
  config.max_model_len = dice->OneIn(3) ? dice->In(12, 40) : dice->In(60, 120);
  SglangConfig& sglang = config.sglang;
  sglang.page_size = dice->OneIn(2) ? 1 : 1 << dice->In(1, 4);
  const int32_t page = sglang.page_size;
  const int32_t least = static_cast<int32_t>(CeilDiv(24, page)) + 1;  // pages
  const int32_t whole = static_cast<int32_t>(CeilDiv(config.max_model_len, page));
  sglang.max_total_tokens =
      page * (dice->OneIn(3) ? 4000 : std::max(least, whole + dice->In(-whole / 2, whole)));
  sglang.chunked_prefill_size = dice->OneIn(6) ? -1 : page * dice->In(1, 1 + 64 / page);
  sglang.max_prefill_tokens = dice->OneIn(3) ? dice->In(1, 80) : 16384;
  sglang.max_running_requests =
      std::min(dice->OneIn(4) ? dice->In(1, 3) : dice->In(2, 12), sglang.max_total_tokens / 2);
  if (dice->OneIn(5)) sglang.prefill_max_requests = dice->In(1, 3);
  sglang.enable_mixed_chunk = dice->OneIn(3);
  sglang.schedule_policy = dice->OneIn(3) ? SchedulePolicy::kLpm : SchedulePolicy::kFcfs;
  sglang.disable_radix_cache = dice->OneIn(3);
  sglang.schedule_conservativeness = dice->OneIn(2) ? 1.0 : dice->In(1, 60) / 100.0;
  sglang.disable_overlap_schedule = dice->OneIn(2);
  if (sglang.chunked_prefill_size > 0 && dice->OneIn(4)) {
    sglang.enable_deterministic_inference = true;
    sglang.flashinfer_prefill_split_tile_size =
        page * dice->In(1, sglang.chunked_prefill_size / page);
  }
  config.output_ends_by = dice->OneIn(2) ? OutputEndsBy::kEos : OutputEndsBy::kLength;
  sglang.ignore_eos = config.output_ends_by == OutputEndsBy::kLength && dice->OneIn(4);
  if (sglang.ignore_eos && sglang.disable_radix_cache) {
    // There a request that may fill the pool to the last token is never admitted.
    const auto ample = static_cast<int32_t>(CeilDiv(config.max_model_len + 40, page)) + 3;
    sglang.max_total_tokens = std::max(sglang.max_total_tokens, page * ample);
  }
  return config;
}

SchedulerConfig RandomConfig(Dice* dice) {
  SchedulerConfig config;
  config.policy = RandomPolicy(dice);
  if (config.policy == SchedulerPolicy::kSglang) return RandomSglang(dice);
  config.max_num_seqs = dice->OneIn(4) ? dice->In(1, 3) : dice->In(2, 12);
  config.max_model_len = dice->OneIn(3) ? dice->In(2, 40) : dice->In(60, 120);
  config.block_size = 1 << dice->In(0, 4);
  const auto least = static_cast<int32_t>(CeilDiv(config.max_model_len, config.block_size));
  config.num_gpu_blocks = 1 + (dice->OneIn(3) ? 4000 : least + dice->In(0, 1 + least));
  config.enable_chunked_prefill = !dice->OneIn(6);
  config.max_num_batched_tokens = std::max(config.max_num_seqs, dice->In(1, 64));
  if (!config.enable_chunked_prefill) {
    config.max_num_batched_tokens =
        std::max(config.max_num_seqs, config.max_model_len) + dice->In(0, 20);
  }
  if (dice->OneIn(3)) {
    config.chunk_alignment = dice->In(1, std::min(24, config.max_num_batched_tokens));
  }
  if (dice->OneIn(3)) config.long_prefill_token_threshold = dice->In(1, 20);
  config.long_prefill_token_threshold_adaptive = dice->OneIn(5);
  config.enable_prefix_caching = !dice->OneIn(3);
  config.async_scheduling = dice->OneIn(2);
  config.scheduler_reserve_full_isl = dice->OneIn(2);
  config.watermark = dice->OneIn(4) ? dice->In(1, 50) / 100.0 : 0.0;
  config.priority = dice->OneIn(3) ? QueuePriority::kPriority : QueuePriority::kFcfs;
  config.output_ends_by = dice->OneIn(2) ? OutputEndsBy::kEos : OutputEndsBy::kLength;
  return config;
}

// A system prompt, a conversation behind it, and perhaps words of its own.
std::vector<PrefixSegment> RandomPrefix(int32_t prompt_tokens, Dice* dice) {
  std::vector<PrefixSegment> prefix;
  int32_t left = prompt_tokens;
  for (uint64_t level = 1; level <= 3 && left > 0 && !dice->OneIn(4); ++level) {
    const uint64_t segment = 10 * level + static_cast<uint64_t>(dice->In(0, 1));
    const int32_t length = dice->OneIn(3) ? dice->In(1, left) : std::min(left, 17);
    prefix.push_back({segment, length});
    left -= length;
  }
  return prefix;
}

// Partial prefills of equal (priority, arrival) may preempt each other for ever when whole prompts
// are not reserved: the first of equals is the victim. So it is in vLLM, where arrivals are clock
// readings and hardly ever equal. See docs/scheduler.md.
bool NeedsDistinctArrivals(const SchedulerConfig& config) {
  return config.priority == QueuePriority::kPriority && !config.scheduler_reserve_full_isl;
}

}  // namespace

RandomCase MakeRandomCase(uint64_t seed) {
  Dice dice(seed);
  RandomCase out{seed, RandomConfig(&dice), {}};
  const int32_t longest = PromptLimit(out.config) - 1;
  const int32_t num_requests = dice.In(1, 24);
  const int32_t longest_gap = dice.OneIn(3) ? 0 : dice.In(1, 12);
  const bool shares = dice.OneIn(2);
  TimeNs now = 0;
  for (int32_t i = 0; i < num_requests; ++i) {
    Request request;
    request.id = std::to_string(i);
    now += dice.OneIn(12) ? 20 * longest_gap : dice.In(0, longest_gap);
    request.arrival_ns = now;
    request.prompt_tokens = dice.In(1, dice.OneIn(4) ? longest : std::min(longest, 40));
    request.output_tokens = dice.OneIn(5) ? 1 : dice.In(1, 30);
    if (dice.OneIn(6)) request.max_tokens = request.output_tokens + dice.In(0, 2);
    request.priority = dice.In(0, 2);
    if (shares) request.prefix = RandomPrefix(request.prompt_tokens, &dice);
    if (NeedsDistinctArrivals(out.config)) request.arrival_ns += i;
    out.requests.push_back(std::move(request));
  }
  return out;
}

namespace {

std::string DescribeSglang(const SchedulerConfig& c) {
  const SglangConfig& s = c.sglang;
  std::ostringstream text;
  text << ", context " << c.max_model_len << ", page " << s.page_size << ", pool "
       << s.max_total_tokens << ", chunk " << s.chunked_prefill_size << ", prefill "
       << s.max_prefill_tokens << ", running " << s.max_running_requests << ", prefill requests "
       << s.prefill_max_requests << ", mixed " << s.enable_mixed_chunk << ", lpm "
       << (s.schedule_policy == SchedulePolicy::kLpm) << ", radix " << !s.disable_radix_cache
       << ", conservativeness " << s.schedule_conservativeness << ", overlap "
       << !s.disable_overlap_schedule << ", align " << s.TruncationAlignSize() << ", ignore eos "
       << s.ignore_eos << ", ends by length " << (c.output_ends_by == OutputEndsBy::kLength);
  return text.str();
}

}  // namespace

std::string Describe(const RandomCase& random_case) {
  const SchedulerConfig& c = random_case.config;
  std::ostringstream text;
  text << "MakeRandomCase(" << random_case.seed << "): policy " << static_cast<int>(c.policy)
       << ", requests " << random_case.requests.size();
  if (c.policy == SchedulerPolicy::kSglang) return text.str() + DescribeSglang(c);
  text << ", budget " << c.max_num_batched_tokens << ", seqs " << c.max_num_seqs << ", model len "
       << c.max_model_len << ", block " << c.block_size << ", blocks " << c.num_gpu_blocks
       << ", chunked " << c.enable_chunked_prefill << ", alignment " << c.chunk_alignment
       << ", threshold " << c.long_prefill_token_threshold << ", adaptive "
       << c.long_prefill_token_threshold_adaptive << ", caching " << c.enable_prefix_caching
       << ", async " << c.async_scheduling << ", reserve " << c.scheduler_reserve_full_isl
       << ", watermark " << c.watermark << ", by priority "
       << (c.priority == QueuePriority::kPriority) << ", ends by length "
       << (c.output_ends_by == OutputEndsBy::kLength);
  return text.str();
}

}  // namespace batchvar
