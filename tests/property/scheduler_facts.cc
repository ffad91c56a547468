#include "tests/property/scheduler_facts.h"

#include <algorithm>

namespace batchvar {
namespace {

bool IsSglang(const SchedulerConfig& config) { return config.policy == SchedulerPolicy::kSglang; }

bool IgnoresEos(const Request& request, const SchedulerConfig& config) {
  return IsSglang(config) && (request.ignore_eos || config.sglang.ignore_eos);
}

SchedulerFacts SglangFacts(const SchedulerConfig& config) {
  const SglangConfig& sglang = config.sglang;
  SchedulerFacts facts;
  facts.max_rows = sglang.max_running_requests;
  if (sglang.chunked_prefill_size > 0) {
    facts.max_tokens = std::max(sglang.chunked_prefill_size, sglang.max_running_requests);
  }
  facts.block_size = sglang.page_size;
  facts.num_blocks = sglang.max_total_tokens / sglang.page_size;
  facts.caching = !sglang.disable_radix_cache;
  facts.steps_ahead = !sglang.disable_overlap_schedule;
  facts.preempts = true;
  facts.drops_outputs_of_preempted = true;
  return facts;
}

SchedulerFacts BlockFacts(const SchedulerConfig& config) {
  const bool is_vllm = config.policy == SchedulerPolicy::kVllmV1;
  SchedulerFacts facts;
  facts.max_rows = config.max_num_seqs;
  facts.max_tokens = is_vllm ? config.max_num_batched_tokens : 0;
  facts.block_size = config.block_size;
  facts.num_blocks = config.num_gpu_blocks - 1;
  facts.caching = is_vllm && config.enable_prefix_caching;
  facts.steps_ahead = is_vllm && config.async_scheduling;
  facts.preempts = is_vllm;
  return facts;
}

// SGLang cuts the limit of a request to what the pool can hold of it.
int64_t SglangLimit(int32_t prompt, const SchedulerConfig& config) {
  const int64_t pool = config.sglang.max_total_tokens;
  const int64_t page = config.sglang.page_size;
  const int64_t by_length = std::min<int64_t>(config.max_model_len, pool) - 2 - prompt;
  const int64_t by_pages = pool - (prompt + page - 1) / page * page - page - 1;
  return std::max<int64_t>(1, std::min(by_length, by_pages));
}

}  // namespace

SchedulerFacts FactsOf(const SchedulerConfig& config) {
  SchedulerFacts facts = IsSglang(config) ? SglangFacts(config) : BlockFacts(config);
  facts.prompt_limit = PromptLimit(config);
  return facts;
}

int32_t ToldOutputs(const Request& request, const SchedulerConfig& config) {
  const int64_t room = IsSglang(config) ? SglangLimit(request.prompt_tokens, config)
                                        : config.max_model_len - request.prompt_tokens;
  return static_cast<int32_t>(std::min<int64_t>(AskedOutputs(config, request), room));
}

int32_t WholeOutputs(const Request& request, const SchedulerConfig& config) {
  return IgnoresEos(request, config) ? AskedOutputs(config, request) : request.output_tokens;
}

int32_t OutputsOf(const Request& request, const SchedulerConfig& config) {
  return std::min(WholeOutputs(request, config), ToldOutputs(request, config));
}

void SetCaching(bool on, SchedulerConfig* config) {
  config->enable_prefix_caching = on;
  config->sglang.disable_radix_cache = !on;
}

}  // namespace batchvar
