// Two Triton attention kernels as policies over triton_splits.h. Use them through
// attention_policy.h.
//
// vllm_triton: few decodes run the 3D kernel, 16 segments each; more of them, or one longer query,
// move everybody to the 2D kernel, which never splits.
// sglang_triton: a decode's count follows from the longest and the shortest request and from how
// many there are. Longer queries run the extend kernel, which walks the cached prefix and then the
// chunk with one running state.
#ifndef BATCHVAR_SIM_PLAN_ATTENTION_TRITON_H_
#define BATCHVAR_SIM_PLAN_ATTENTION_TRITON_H_

#include <string>
#include <vector>

#include "sim/plan/attention_policy.h"

namespace batchvar {

class AttentionVllmTriton final : public AttentionPolicy {
 public:
  explicit AttentionVllmTriton(const AttentionPolicySpec& spec);
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

class AttentionSglangTriton final : public AttentionPolicy {
 public:
  explicit AttentionSglangTriton(const AttentionPolicySpec& spec);
  bool RuleUsesKvLengths() const override;
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

#endif  // BATCHVAR_SIM_PLAN_ATTENTION_TRITON_H_
