// A fixed split SIZE counted from token 0 (a fixed NUMBER would not be invariant): where a
// request's pieces end depends on its own KV length alone. Use it through attention_policy.h.
//
// With prefix_apart the cached prefix [0, num_computed) and the step's own tokens are cut apart, as
// kernels do that read new keys and values before they are in the cache. Then pieces depend on
// where chunks were cut, unless every cut falls on a multiple of split_size.
#ifndef BATCHVAR_SIM_PLAN_ATTENTION_BATCH_INVARIANT_H_
#define BATCHVAR_SIM_PLAN_ATTENTION_BATCH_INVARIANT_H_

#include <string>
#include <vector>

#include "sim/plan/attention_policy.h"

namespace batchvar {

class AttentionBatchInvariant final : public AttentionPolicy {
 public:
  explicit AttentionBatchInvariant(const AttentionPolicySpec& spec);
  bool RuleUsesKvLengths() const override { return false; }
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

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_ATTENTION_BATCH_INVARIANT_H_
