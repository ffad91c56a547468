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

SchedulerConfig RandomConfig(Dice* dice) {
  SchedulerConfig config;
  const int32_t policy = dice->In(0, 9);
  config.policy = policy == 0   ? SchedulerPolicy::kStatic
                  : policy == 1 ? SchedulerPolicy::kOrca
                                : SchedulerPolicy::kVllmV1;
  config.max_num_seqs = dice->OneIn(4) ? dice->In(1, 3) : dice->In(2, 12);
  config.max_model_len = dice->OneIn(3) ? dice->In(2, 40) : dice->In(60, 120);
  config.block_size = 1 << dice->In(0, 4);
  const auto least = static_cast<int32_t>(CeilDiv(config.max_model_len, config.block_size));
  config.num_gpu_blocks = 1 + (dice->OneIn(3) ? 4000 : least + dice->In(0, 1 + least));
  config.enable_chunked_prefill = !dice->OneIn(6);
  config.max_num_batched_tokens = std::max(config.max_num_seqs, dice->In(1, 64));
  if (!config.enable_chunked_prefill) {
    config.max_num_batched_tokens = std::max(config.max_num_seqs, config.max_model_len) +
                                    dice->In(0, 20);
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
  const int32_t longest = out.config.max_model_len - 1;
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

int32_t OutputsOf(const Request& request, const SchedulerConfig& config) {
  return std::min(request.output_tokens, config.max_model_len - request.prompt_tokens);
}

std::string Describe(const RandomCase& random_case) {
  const SchedulerConfig& c = random_case.config;
  std::ostringstream text;
  text << "MakeRandomCase(" << random_case.seed << "): policy " << static_cast<int>(c.policy)
       << ", budget " << c.max_num_batched_tokens << ", seqs " << c.max_num_seqs << ", model len "
       << c.max_model_len << ", block " << c.block_size << ", blocks " << c.num_gpu_blocks
       << ", chunked " << c.enable_chunked_prefill << ", alignment " << c.chunk_alignment
       << ", threshold " << c.long_prefill_token_threshold << ", adaptive "
       << c.long_prefill_token_threshold_adaptive << ", caching " << c.enable_prefix_caching
       << ", async " << c.async_scheduling << ", reserve " << c.scheduler_reserve_full_isl
       << ", watermark " << c.watermark << ", by priority "
       << (c.priority == QueuePriority::kPriority) << ", ends by length "
       << (c.output_ends_by == OutputEndsBy::kLength) << ", requests "
       << random_case.requests.size();
  return text.str();
}

}  // namespace batchvar
