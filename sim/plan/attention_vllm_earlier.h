// Two attention paths of earlier vLLM versions as policies over vllm_attention_choice.h. Use them
// through attention_policy.h.
//
// paged_v1_v2: decodes run v1 (one pass) or v2 (partitions of 512 whose results are kept in 16
// bits), by their number and the longest of them; longer queries run FlashAttention-2's varlen
// kernel.
// cascade: a prefix that every request of the step shares may be reduced apart and merged with the
// rest; otherwise fa3 on Hopper, fa2 elsewhere. Needs AttentionRequest::shared_prefix. Both passes
// are taken as unsplit.
#ifndef BATCHVAR_SIM_PLAN_ATTENTION_VLLM_EARLIER_H_
#define BATCHVAR_SIM_PLAN_ATTENTION_VLLM_EARLIER_H_

#include <string>
#include <vector>

#include "sim/plan/attention_flash.h"
#include "sim/plan/attention_policy.h"

namespace batchvar {

class AttentionPaged final : public AttentionPolicy {
 public:
  explicit AttentionPaged(const AttentionPolicySpec& spec);
  AttentionRule Rule(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                     const DeviceSpec& device) const override;
  Order OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                 const AttentionHeads& heads, const DeviceSpec& device) const override;
  std::vector<std::string> Explain(const std::vector<AttentionRequest>& step,
                                   const AttentionHeads& heads,
                                   const DeviceSpec& device) const override;
  const char* name() const override;
  PolicySource source() const override;

 private:
  AttentionPolicySpec spec_;
};

class AttentionCascade final : public AttentionPolicy {
 public:
  explicit AttentionCascade(const AttentionPolicySpec& spec);
  bool UsesSharedPrefix() const override { return true; }
  AttentionRule Rule(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                     const DeviceSpec& device) const override;
  Order OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                 const AttentionHeads& heads, const DeviceSpec& device) const override;
  Order OrderOfRow(const AttentionRule& rule, const AttentionRequest& request, int64_t position,
                   const AttentionHeads& heads, const DeviceSpec& device) const override;
  std::vector<std::string> Explain(const std::vector<AttentionRequest>& step,
                                   const AttentionHeads& heads,
                                   const DeviceSpec& device) const override;
  const char* name() const override;
  PolicySource source() const override;

 private:
  const AttentionPolicy& Base(const DeviceSpec& device) const;

  AttentionPolicySpec spec_;
  AttentionFa2 fa2_;
  AttentionFa3 fa3_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_ATTENTION_VLLM_EARLIER_H_
