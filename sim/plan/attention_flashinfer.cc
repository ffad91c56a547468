#include "sim/plan/attention_flashinfer.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/flashinfer_plan.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

// One load of a thread in the merge kernel (fp32 partials) and in the decode kernel (16-bit KV).
int64_t ThreadsAlongHead(int32_t head_dim, int32_t element_bytes) {
  const int64_t vector = std::max<int64_t>(16 / element_bytes, head_dim / 32);
  return std::max<int64_t>(head_dim / vector, 1);
}

// Rows of threads of the kernel that merges chunks (include/flashinfer/attention/cascade.cuh).
int32_t MergeLanes(int32_t head_dim) {
  return static_cast<int32_t>(std::max<int64_t>(128 / ThreadsAlongHead(head_dim, 4), 1));
}

// KV positions that the blocks' threads of the CUDA-core decode kernel take at once (decode.cuh).
int32_t CudaCoreTileKv(const AttentionHeads& heads) {
  const int64_t group = heads.q_heads / heads.kv_heads;
  const int64_t along_head = ThreadsAlongHead(heads.head_dim, DTypeBytes(heads.dtype));
  const int64_t threads = std::max<int64_t>(128, along_head * group);
  const int64_t per_thread = group == 1 ? 4 : 1;
  return static_cast<int32_t>(threads / along_head * per_thread);
}

}  // namespace

AttentionFlashInfer::AttentionFlashInfer(const AttentionPolicySpec& spec) : spec_(spec) {
  BV_CHECK(spec.page_size >= 1 && spec.blocks_per_sm >= 1);
  BV_CHECK(spec.fixed_split_size >= 0 && spec.prefill_fixed_split_size >= 0);
}

AttentionFlashInfer::Part AttentionFlashInfer::CudaCoreDecode(std::vector<int64_t> pages,
                                                              const AttentionHeads& heads,
                                                              const DeviceSpec& device) const {
  FlashInferDecodeInput input;
  input.max_grid = int64_t{device.sm_count} * spec_.blocks_per_sm;
  input.kv_heads = heads.kv_heads;
  input.page_size = spec_.page_size;
  input.cuda_graph = spec_.cuda_graph;
  input.pages = std::move(pages);
  const FlashInferDecodePlan plan = PlanFlashInferDecode(input);
  Part part;
  part.requests = static_cast<int64_t>(input.pages.size());
  part.split_size = plan.split ? plan.pages_per_chunk * spec_.page_size : 0;
  part.tile_kv = CudaCoreTileKv(heads);
  part.room = input.max_grid / heads.kv_heads;
  part.work = plan.work;
  part.searched = true;
  return part;
}

AttentionFlashInfer::Part AttentionFlashInfer::PlanPart(const std::vector<AttentionRequest>& step,
                                                        bool decodes, const AttentionHeads& heads,
                                                        const DeviceSpec& device) const {
  FlashInferPrefillInput input;
  for (const AttentionRequest& request : step) {
    if ((request.q_len == 1) != decodes) continue;
    input.q_lens.push_back(request.q_len);
    input.kv_pages.push_back(CeilDiv(request.kv_len, spec_.page_size));
  }
  if (input.q_lens.empty()) return {};
  if (decodes && !spec_.tensor_cores) {
    return CudaCoreDecode(std::move(input.kv_pages), heads, device);
  }
  const int32_t fixed = decodes ? spec_.fixed_split_size : spec_.prefill_fixed_split_size;
  input.sm_count = device.sm_count;
  input.q_heads = heads.q_heads;
  input.kv_heads = heads.kv_heads;
  input.head_dim = heads.head_dim;
  input.page_size = spec_.page_size;
  input.cuda_graph = decodes && spec_.cuda_graph;  // prefills never run from a graph
  input.fixed_split_pages = CeilDiv(fixed, spec_.page_size);
  input.disable_split = spec_.disable_split_kv;  // wins over a fixed chunk, as upstream
  const FlashInferPrefillPlan plan = PlanFlashInferPrefill(input);
  Part part;
  part.requests = static_cast<int64_t>(input.q_lens.size());
  // A fixed chunk is kept where nothing reaches beyond it, so that the rule stays the same.
  const bool split = !input.disable_split && (plan.split || input.fixed_split_pages > 0);
  part.split_size = split ? plan.chunk_pages * spec_.page_size : 0;
  part.tile_kv = FlashInferWarpTileKv(plan.cta_tile_q, heads.head_dim, device.compute_capability);
  part.room = int64_t{2} * device.sm_count / heads.kv_heads;
  part.work = plan.work;
  part.searched = !input.disable_split && fixed == 0;
  part.fits = plan.Fits();
  return part;
}

AttentionRule AttentionFlashInfer::Rule(const std::vector<AttentionRequest>& step,
                                        const AttentionHeads& heads,
                                        const DeviceSpec& device) const {
  const Part decode = PlanPart(step, /*decodes=*/true, heads, device);
  const Part prefill = PlanPart(step, /*decodes=*/false, heads, device);
  AttentionRule rule;
  if (decode.requests > 0) {
    rule.tile_kv = decode.tile_kv;
    rule.split_size = decode.split_size;
  }
  rule.prefill_tile_kv = prefill.tile_kv;
  rule.prefill_split_size = prefill.split_size;
  return rule;
}

Order AttentionFlashInfer::OrderFor(const AttentionRule& rule, const AttentionRequest& request,
                                    const AttentionHeads& heads, const DeviceSpec& device) const {
  const bool prefill = request.q_len > 1;
  const int64_t chunk = prefill ? rule.prefill_split_size : rule.split_size;
  Order order = OrderOfPieces(request.kv_len, chunk > 0 ? chunk : request.kv_len,
                              prefill ? rule.prefill_tile_kv : rule.tile_kv, heads, device);
  if (!prefill && !spec_.tensor_cores) order.arithmetic = Arithmetic::kFmaChain;
  order.combine_lanes = MergeLanes(heads.head_dim);
  return RowOrder(order, request.kv_len - 1);
}

void AttentionFlashInfer::ExplainPart(const Part& part, const char* who,
                                      std::vector<std::string>* words) const {
  if (part.requests == 0) return;
  const std::string chunk = std::to_string(part.split_size) + " KV positions";
  std::string line = CountWords(part.requests, who) + ": ";
  if (!part.searched) {
    line += part.split_size > 0 ? "chunks of " + chunk + ", fixed, whoever else is there"
                                : "splitting is off";
  } else if (part.split_size == 0) {
    line += "room for " + CountWords(part.room, "work item") + " a KV head, nothing is split";
  } else {
    line += "room for " + CountWords(part.room, "work item") +
            " a KV head; the smallest chunk that fits everybody is " + chunk + " (" +
            CountWords(part.work, "item") + "), so each neighbour's length moves it";
  }
  if (!part.fits) line += "; more work items than a captured graph has: upstream refuses the plan";
  words->push_back(std::move(line));
}

std::vector<std::string> AttentionFlashInfer::Explain(const std::vector<AttentionRequest>& step,
                                                      const AttentionHeads& heads,
                                                      const DeviceSpec& device) const {
  std::vector<std::string> words;
  ExplainPart(PlanPart(step, /*decodes=*/true, heads, device), "decode", &words);
  ExplainPart(PlanPart(step, /*decodes=*/false, heads, device), "prefill", &words);
  AddRequestWords(*this, step, heads, device, &words);
  return words;
}

const char* AttentionFlashInfer::name() const {
  return PolicyName(AttentionPolicyKind::kFlashInfer);
}

PolicySource AttentionFlashInfer::source() const {
  return {"FlashInfer", "fb28d724", "2026-08-22"};
}

}  // namespace batchvar
