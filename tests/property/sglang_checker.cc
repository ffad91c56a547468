#include "tests/property/sglang_checker.h"

namespace batchvar {

void SglangChecker::CheckAdmission(const ScheduledRow& row) {
  const bool in_order =
      config_.sglang.disable_radix_cache || config_.sglang.schedule_policy == SchedulePolicy::kFcfs;
  if (in_order) Require(row.request == waiting_.front(), "admitted out of turn", row.request);
}

void SglangChecker::CheckRowRules(const ScheduledRow& row, bool admitted, bool samples) {
  Require(!admitted || row.phase != Phase::kDecode, "admitted with a prompt", row.request);
  if (admitted && !samples) {
    const SglangConfig& sglang = config_.sglang;
    const bool foresees = sglang.disable_radix_cache &&
                          (sglang.ignore_eos || requests_.at(row.request).request.ignore_eos);
    const int32_t align = sglang.TruncationAlignSize();
    Require(sglang.chunked_prefill_size > 0, "cut without chunked prefill", row.request);
    if (!foresees) {
      Require((row.num_computed + row.num_scheduled) % sglang.page_size == 0,
              "a first chunk ends with a page", row.request);
      Require(align == 0 || align % sglang.page_size != 0 || row.num_scheduled % align == 0,
              "a first chunk of aligned length", row.request);
    }
  }
}

void SglangChecker::CheckStepRules(const Scheduler& scheduler, const StepBatch& batch, size_t) {
  int64_t prefill_tokens = 0;
  int32_t unfinished = -1;
  bool decodes = false;
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const ScheduledRow& row = batch.rows[i];
    if (row.phase == Phase::kDecode) {
      decodes = true;
      continue;
    }
    Require(!decodes, "prompts before decodes", row.request);
    prefill_tokens += row.num_scheduled;
    if (i == 0 && unfinished_prompt_ >= 0) {
      Require(row.request == unfinished_prompt_, "the unfinished prompt first", row.request);
      unfinished_prompt_ = -1;
    }
    if (row.phase != Phase::kChunk) continue;
    Require(unfinished < 0, "one unfinished prompt at a time", row.request);
    unfinished = row.request;
  }
  const SglangConfig& sglang = config_.sglang;
  Require(sglang.chunked_prefill_size < 0 || prefill_tokens <= sglang.chunked_prefill_size,
          "prompts share one chunk");
  if (!sglang.enable_mixed_chunk) {
    Require(!decodes || prefill_tokens == 0, "prompts or decodes, not both");
    Require(unfinished_prompt_ < 0, "nobody decodes while a prompt is unfinished");
  }
  if (unfinished >= 0) unfinished_prompt_ = unfinished;
  Require(batch.padding_tokens == 0, "only static batches are padded");
  CheckPool(scheduler);
}

// Every running request holds the pages of what it computed; pages that several hold count once.
void SglangChecker::CheckPool(const Scheduler& scheduler) {
  int64_t held = 0;
  for (const int32_t request : running_) held += BlocksFor(requests_.at(request).computed);
  const int64_t used = facts_.num_blocks - scheduler.num_free_blocks();
  Require(facts_.caching ? used <= held : used == held, "held pages are those of running requests");
}

}  // namespace batchvar
