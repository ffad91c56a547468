#include "sim/config/scheduler_keys.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/spec_names.h"

namespace batchvar {
namespace {

constexpr uint32_t Bit(SchedulerPolicy policy) { return 1U << static_cast<uint32_t>(policy); }

constexpr uint32_t kVllm = Bit(SchedulerPolicy::kVllmV1);
constexpr uint32_t kSglang = Bit(SchedulerPolicy::kSglang);
constexpr uint32_t kBlocks = kVllm | Bit(SchedulerPolicy::kStatic) | Bit(SchedulerPolicy::kOrca);

struct SchedulerKey {
  const char* name;
  uint32_t users;
  const char* counterpart;  // the nearest key of the other engine; nullptr: none
};

constexpr SchedulerKey kKeys[] = {
    {"max_num_batched_tokens", kVllm, "chunked_prefill_size"},
    {"max_num_seqs", kBlocks, "max_running_requests"},
    {"max_model_len", kBlocks, "context_length"},
    {"block_size", kBlocks, "page_size"},
    {"num_gpu_blocks", kBlocks, "max_total_tokens"},
    {"gpu_memory_utilization", kBlocks, "mem_fraction_static"},
    {"enable_chunked_prefill", kVllm, "chunked_prefill_size"},
    {"chunk_alignment", kVllm, "enable_deterministic_inference"},
    {"long_prefill_token_threshold", kVllm, nullptr},
    {"long_prefill_token_threshold_adaptive", kVllm, nullptr},
    {"enable_prefix_caching", kVllm, "disable_radix_cache"},
    {"async_scheduling", kVllm, "disable_overlap_schedule"},
    {"scheduler_reserve_full_isl", kVllm, "schedule_conservativeness"},
    {"watermark", kVllm, "schedule_conservativeness"},
    {"priority", kVllm, "schedule_policy"},
    {"chunked_prefill_size", kSglang, "max_num_batched_tokens"},
    {"max_prefill_tokens", kSglang, "max_num_batched_tokens"},
    {"max_running_requests", kSglang, "max_num_seqs"},
    {"prefill_max_requests", kSglang, nullptr},
    {"context_length", kSglang, "max_model_len"},
    {"page_size", kSglang, "block_size"},
    {"max_total_tokens", kSglang, "num_gpu_blocks"},
    {"mem_fraction_static", kSglang, "gpu_memory_utilization"},
    {"schedule_policy", kSglang, "priority"},
    {"enable_mixed_chunk", kSglang, nullptr},
    {"disable_radix_cache", kSglang, "enable_prefix_caching"},
    {"schedule_conservativeness", kSglang, nullptr},
    {"disable_overlap_schedule", kSglang, "async_scheduling"},
    {"enable_deterministic_inference", kSglang, "chunk_alignment"},
    {"attention_backend", kSglang, nullptr},
    {"flashinfer_prefill_split_tile_size", kSglang, nullptr},
    {"ignore_eos", kSglang, nullptr},
    {"cuda_graph_max_bs", kSglang, "capture_sizes"},
    {"enable_piecewise_cuda_graph", kSglang, nullptr},
};

bool Uses(SchedulerPolicy policy, std::string_view name) {
  for (const SchedulerKey& key : kKeys) {
    if (key.name == name) return (key.users & Bit(policy)) != 0;
  }
  return true;
}

// "policy 'vllm_v1'", "policies 'vllm_v1', 'static', 'orca'"
std::string UsersOf(const SchedulerKey& key) {
  std::string names;
  bool several = false;
  for (const auto& [name, policy] : kSchedulerPolicyNames) {
    if ((key.users & Bit(policy)) == 0) continue;
    several = !names.empty();
    names += (names.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  return (several ? "policies " : "policy ") + names;
}

}  // namespace

void RefuseKeysOfOtherPolicies(SchedulerPolicy policy, MapReader* reader) {
  const std::string here(NameIn(kSchedulerPolicyNames, policy));
  for (const SchedulerKey& key : kKeys) {
    if ((key.users & Bit(policy)) != 0) continue;
    const bool has_other = key.counterpart != nullptr && Uses(policy, key.counterpart);
    reader->Refuse(key.name, "belongs to " + UsersOf(key) + " and is not used by policy '" + here +
                                 "'; remove it" +
                                 (has_other ? ", or see " + std::string(key.counterpart) : ""));
  }
}

}  // namespace batchvar
