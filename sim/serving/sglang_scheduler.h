// The scheduler of SGLang, exactly: sglang 0.5.23 (PyPI, 2026-10), class Scheduler with its two
// event loops, PrefillAdder, ScheduleBatch and the radix cache. Scope: one KV pool of full
// attention, text only, no speculation, LoRA, priority, hierarchical cache or disaggregation.
// Rules in words: docs/scheduler.md; section numbers below are its.
//
// What it shares with vllm_v1 is prefix_chain.h (names of texts), slot_pool.h, AskedOutputs() and
// the interface. Everything else differs: who goes first, what admission asks for, when content can
// be found, what is dropped, who loses under pressure.
//
// Invariants, checked in the property tests: a prompt's chunk is at most chunked_prefill_size
// tokens; at most max_running_requests have a row; free + evictable + held tokens is the pool.
#ifndef BATCHVAR_SIM_SERVING_SGLANG_SCHEDULER_H_
#define BATCHVAR_SIM_SERVING_SGLANG_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/radix_tree.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/sglang_queue.h"
#include "sim/serving/sglang_request.h"

namespace batchvar {

class SglangScheduler final : public Scheduler {
 public:
  explicit SglangScheduler(const SchedulerConfig& config);

  void Add(const Request& request, int32_t index) override;
  const StepBatch& Schedule() override;
  const char* failure() const override { return failure_; }
  const std::vector<int32_t>& preempted() const override { return preempted_; }
  const std::vector<PrefixHit>& prefix_hits() const override { return prefix_hits_; }
  const StepOutputs& ApplyOutputs() override;
  bool HasUnfinished() const override { return num_unfinished_ > 0; }
  bool HasStepInFlight() const override { return !in_flight_.empty(); }
  int32_t num_running() const override { return num_unfinished_ - waiting_.size(); }
  int32_t num_waiting() const override { return waiting_.size(); }
  int32_t num_free_blocks() const override {
    return static_cast<int32_t>((free_ + tree_.evictable_tokens()) / sglang_.page_size);
  }

  // What the real scheduler shows after planning. For tests.
  struct View {
    SglangMode mode = SglangMode::kIdle;
    int32_t chunked = -1;          // request whose prompt is unfinished after this batch
    std::vector<int32_t> running;  // requests of the running batch
    std::vector<int32_t> waiting;
    bool full = false;
    int64_t free_tokens = 0;
    int64_t evictable_tokens = 0;
    double new_token_ratio = 0;
  };
  View LookInside() const;

 private:
  // One pass over the waiting queue: what it may still take (section 3).
  struct PrefillPass {
    std::vector<int32_t> slots;  // the batch
    size_t num_from_queue = 0;
    int64_t rem_input = 0;
    int64_t rem_chunk = 0;
    int64_t cur = 0;   // tokens asked of the pool in this step
    double total = 0;  // and until the running requests are expected to end
    bool has_estimate = false;
    struct Ending {
      double tokens_left;
      int32_t tokens_held;
    };
    std::vector<Ending> endings;  // section 3.1

    void Clear();
  };
  enum class Verdict : uint8_t { kGo, kStop, kMemory };

  // sglang_scheduler.cc: the round.
  void PublishChunk();
  void MergeLastBatch();
  void DropFinished(SglangBatch* batch);
  void Record(int32_t slot, int32_t num_scheduled, int32_t num_computed, Phase phase);
  void PushStep(size_t num_prefill);
  void Fail(const char* why);

  // sglang_prefill.cc.
  bool PlanPrefill();
  void BeginPass();
  void ContinueChunk();
  void AdmitWaiting();
  Verdict Admit(int32_t slot);
  Verdict AdmitToItsEnd(int32_t slot);
  bool EndsFit(const SglangRequest& r, int64_t paged);
  void AddEnding(const SglangRequest& r, bool in_place);
  void Take(int32_t slot, int32_t num_tokens, bool is_chunk);
  void Charge(int64_t num_tokens, int64_t outputs);
  Verdict State() const;
  bool AllocatePrefill();
  void MixInRunning();

  // sglang_decode.cc.
  bool PlanDecode();
  size_t RemoveEnding();
  bool DecodeFits(const std::vector<int32_t>& slots);
  void Retract();
  void ReleaseRetracted(int32_t slot);
  void AllocateDecode();

  // sglang_results.cc.
  void ApplyRow(int32_t slot, bool is_prefill);
  void Publish(SglangRequest* r, int32_t up_to);
  void Finish(int32_t slot);

  int64_t available() const { return free_ + tree_.evictable_tokens(); }
  void MakeRoom(int64_t tokens);
  int64_t CeilPage(int64_t tokens) const;
  int64_t FloorPage(int64_t tokens) const { return tokens / sglang_.page_size * sglang_.page_size; }
  double ShareOf(const SglangRequest& r) const { return r.ignore_eos ? 1.0 : ratio_; }

  SchedulerConfig config_;
  const SglangConfig& sglang_;
  bool radix_;
  bool overlap_;
  double first_ratio_;
  double least_ratio_;
  double ratio_decay_;
  double ratio_;

  RadixTree tree_;
  int64_t free_;  // tokens, whole pages
  int32_t free_rows_;
  SglangRequestPool requests_;
  SglangQueue waiting_;
  SglangBatch running_;
  std::vector<int32_t> last_prefill_;  // the batch of the round before, if it was one with prompts
  int32_t chunked_ = -1;               // slot of the one request with an unfinished prompt
  int32_t num_unfinished_ = 0;
  const char* failure_ = nullptr;

  std::deque<SglangStep> in_flight_;
  std::vector<SglangStep> spare_steps_;
  // Finished in this round, and in the one before: then nothing names them any more.
  std::vector<int32_t> just_finished_;
  std::vector<int32_t> long_finished_;

  // The round being planned.
  SglangMode mode_ = SglangMode::kIdle;
  PrefillPass pass_;
  StepBatch batch_;
  SglangStep step_;
  std::vector<int32_t> preempted_;
  std::vector<PrefixHit> prefix_hits_;  // always empty: the radix cache does not know producers
  StepOutputs outputs_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SGLANG_SCHEDULER_H_
