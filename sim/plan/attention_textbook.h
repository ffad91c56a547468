// The textbook's fill rule over KV tiles: one split factor for the whole step, so a request's sums
// depend on its neighbours' query lengths and number. Use it through attention_policy.h; formula
// and worked examples: docs/policies.md.
#ifndef BATCHVAR_SIM_PLAN_ATTENTION_TEXTBOOK_H_
#define BATCHVAR_SIM_PLAN_ATTENTION_TEXTBOOK_H_

#include <string>
#include <vector>

#include "sim/plan/attention_policy.h"

namespace batchvar {

class AttentionTextbook final : public AttentionPolicy {
 public:
  explicit AttentionTextbook(const AttentionPolicySpec& spec);
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

#endif  // BATCHVAR_SIM_PLAN_ATTENTION_TEXTBOOK_H_
