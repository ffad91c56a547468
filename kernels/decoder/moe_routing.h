// Which experts a token visits: soft-max over all experts, the most probable ones, the lower index
// on ties, their probabilities renormalised where the model says so. All in fp32, in the order of
// experts. Source: vLLM 0.32 topk_softmax and Transformers 5.24 modeling_mixtral.py (2026-11),
// which agree on the rule.
#ifndef BATCHVAR_KERNELS_DECODER_MOE_ROUTING_H_
#define BATCHVAR_KERNELS_DECODER_MOE_ROUTING_H_

#include <cstdint>
#include <span>
#include <vector>

namespace batchvar {

struct MoeRoute {
  int32_t layer = 0;
  std::vector<int32_t> experts;  // by falling probability
  std::vector<float> weights;    // of these
  // Probability of the last chosen expert minus that of the first refused one: how near the route
  // is to another. 1 where none is refused.
  float gap_to_next_expert = 1.0f;
};

// 1 <= `chosen` <= logits.size().
MoeRoute ChooseRoute(std::span<const float> logits, int32_t chosen, bool renormalise);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_MOE_ROUTING_H_
