// FlashAttention-2 and -3 as attention policies over fa_splits.h. Both walk the KV blocks of a
// piece from the highest down. Use them through attention_policy.h.
//
// fa2: a step in which everybody decodes runs the split kernel with one count for all, found from
// the batch and the longest KV; any longer query moves the whole step to the varlen kernel, which
// never splits and has a narrower KV block.
// fa3: a count per request, found from the blocks of everybody in the step (varlen, what vLLM
// runs), or one count for the step.
#ifndef BATCHVAR_SIM_PLAN_ATTENTION_FLASH_H_
#define BATCHVAR_SIM_PLAN_ATTENTION_FLASH_H_

#include <string>
#include <vector>

#include "sim/plan/attention_policy.h"

namespace batchvar {

class AttentionFa2 final : public AttentionPolicy {
 public:
  explicit AttentionFa2(const AttentionPolicySpec& spec) : spec_(spec) {}
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

class AttentionFa3 final : public AttentionPolicy {
 public:
  explicit AttentionFa3(const AttentionPolicySpec& spec) : spec_(spec) {}
  AttentionRule Rule(const std::vector<AttentionRequest>& step, const AttentionHeads& heads,
                     const DeviceSpec& device) const override;
  Order OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                 const AttentionHeads& heads, const DeviceSpec& device) const override;
  // A query tile shares out the KV blocks that its own last row sees, so rows of different tiles
  // are cut differently. A token whose heads lie in two tiles counts for the later one.
  Order OrderOfRow(const AttentionRule& rule, const AttentionRequest& request, int64_t position,
                   const AttentionHeads& heads, const DeviceSpec& device) const override;
  std::vector<std::string> Explain(const std::vector<AttentionRequest>& step,
                                   const AttentionHeads& heads,
                                   const DeviceSpec& device) const override;
  const char* name() const override;
  PolicySource source() const override;

 private:
  AttentionPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_ATTENTION_FLASH_H_
