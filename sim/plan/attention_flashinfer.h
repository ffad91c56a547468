// FlashInfer as an attention policy over flashinfer_plan.h: whole pages a chunk, the same for every
// request of a plan, as small as the device has room for. Decodes and longer queries are planned
// apart, as vLLM and SGLang do. Use it through attention_policy.h.
#ifndef BATCHVAR_SIM_PLAN_ATTENTION_FLASHINFER_H_
#define BATCHVAR_SIM_PLAN_ATTENTION_FLASHINFER_H_

#include <string>
#include <vector>

#include "sim/plan/attention_policy.h"

namespace batchvar {

class AttentionFlashInfer final : public AttentionPolicy {
 public:
  explicit AttentionFlashInfer(const AttentionPolicySpec& spec);
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
  // What one of the two plans of a step came to.
  struct Part {
    int64_t requests = 0;
    int64_t split_size = 0;  // KV positions of a chunk; 0: nothing is split
    int32_t tile_kv = 0;
    int64_t room = 0;  // work items that fit
    int64_t work = 0;
    bool searched = false;  // for the smallest chunk that fits
    bool fits = true;       // into a captured graph
  };
  Part PlanPart(const std::vector<AttentionRequest>& step, bool decodes,
                const AttentionHeads& heads, const DeviceSpec& device) const;
  Part CudaCoreDecode(std::vector<int64_t> pages, const AttentionHeads& heads,
                      const DeviceSpec& device) const;
  void ExplainPart(const Part& part, const char* who, std::vector<std::string>* words) const;

  AttentionPolicySpec spec_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_ATTENTION_FLASHINFER_H_
