// Prefill batches of SGLang: the class PrefillAdder and what surrounds it.
#include <algorithm>

#include "sim/base/check.h"
#include "sim/serving/sglang_scheduler.h"

namespace batchvar {
namespace {

// A request is not expected to generate more than this (CLIP_MAX_NEW_TOKENS).
constexpr int32_t kMostExpectedOutputs = 4096;
// Kept free per request where ends are foreseen (IGNORE_EOS_RESERVE_TOKENS).
constexpr int64_t kReservedPerRequest = 1;

constexpr int64_t kNoLimit = INT64_MAX / 2;

}  // namespace

void SglangScheduler::PrefillPass::Clear() {
  slots.clear();
  num_from_queue = 0;
  has_estimate = false;
  endings.clear();
}

bool SglangScheduler::PlanPrefill() {
  if (running_.slots.empty()) running_.full = false;
  const bool continues = chunked_ >= 0;
  if ((running_.full || waiting_.empty()) && !continues) return false;
  const int32_t room = std::min(
      sglang_.max_running_requests - static_cast<int32_t>(running_.slots.size()), free_rows_);
  if (room <= 0 && !continues) {
    running_.full = true;
    return false;
  }
  waiting_.Order();
  BeginPass();
  if (continues) ContinueChunk();
  AdmitWaiting();
  if (pass_.slots.empty()) return false;
  waiting_.PopFront(pass_.num_from_queue);
  if (chunked_ >= 0) ++requests_[chunked_].middle_chunks;
  if (!AllocatePrefill()) {
    Fail("KV allocation failed after admission: the pool holds less than the batch needs");
    return false;
  }
  mode_ = SglangMode::kExtend;
  for (const int32_t slot : pass_.slots) {
    const SglangRequest& r = requests_[slot];
    Record(slot, r.end - r.prefix, r.prefix,
           r.end < r.num_tokens() ? Phase::kChunk : Phase::kLastChunk);
  }
  const size_t num_prefill = pass_.slots.size();
  if (sglang_.enable_mixed_chunk && !running_.slots.empty()) MixInRunning();
  last_prefill_ = step_.slots;
  PushStep(num_prefill);
  return true;
}

void SglangScheduler::BeginPass() {
  pass_.Clear();
  const int64_t mixed =
      sglang_.enable_mixed_chunk ? static_cast<int64_t>(running_.slots.size()) : 0;
  pass_.rem_input = sglang_.max_prefill_tokens - mixed;
  pass_.rem_chunk =
      sglang_.chunked_prefill_size < 0 ? kNoLimit : sglang_.chunked_prefill_size - mixed;
  pass_.cur = mixed;
  double expected = 0;  // summed in batch order, as there
  for (const int32_t slot : running_.slots) {
    const SglangRequest& r = requests_[slot];
    expected += std::min(r.max_new - r.num_outputs, kMostExpectedOutputs) * ShareOf(r);
  }
  pass_.total = static_cast<double>(mixed) + expected;
}

SglangScheduler::Verdict SglangScheduler::State() const {
  const auto room = available();
  if (static_cast<double>(room) - pass_.total <= 0 || room - pass_.cur <= 0) {
    return Verdict::kMemory;
  }
  return pass_.rem_input <= 0 || pass_.rem_chunk <= 0 ? Verdict::kStop : Verdict::kGo;
}

void SglangScheduler::Charge(int64_t num_tokens, int64_t outputs) {
  const int64_t paged = CeilPage(num_tokens);
  pass_.total += static_cast<double>(paged + sglang_.page_size + outputs);
  pass_.cur += paged + sglang_.page_size;
  pass_.rem_input -= paged;
  pass_.rem_chunk -= paged;
}

void SglangScheduler::Take(int32_t slot, int32_t num_tokens, bool is_chunk) {
  SglangRequest& r = requests_[slot];
  r.end = r.prefix + num_tokens;
  pass_.slots.push_back(slot);
  Charge(num_tokens, is_chunk ? 0 : std::min(r.max_new, kMostExpectedOutputs));
}

// The unfinished prompt goes first. It must progress, so it is let through even when the pool is
// overdrawn: that is how a real server can die.
void SglangScheduler::ContinueChunk() {
  const int32_t slot = chunked_;
  SglangRequest& r = requests_[slot];
  const auto room = static_cast<int64_t>(static_cast<double>(available()) - pass_.total);
  int64_t limit = std::min(pass_.rem_chunk, room);
  if (limit <= 0) limit = pass_.rem_chunk;
  // As many decodes as a chunk has tokens (mixed chunks): it sits out. The real one was never seen
  // in this state.
  if (limit <= 0) return;
  const int32_t left = r.num_tokens() - r.prefix;
  const bool is_cut = left > limit;
  Take(slot, static_cast<int32_t>(std::min<int64_t>(left, limit)), is_cut);
  if (!is_cut) chunked_ = -1;
}

void SglangScheduler::AdmitWaiting() {
  const bool nobody_runs = running_.slots.empty();
  for (int32_t i = 0; i < waiting_.size(); ++i) {
    if (State() == Verdict::kStop) return;
    // A continued chunk has its row already.
    const size_t rows = static_cast<size_t>(free_rows_) + pass_.slots.size() - pass_.num_from_queue;
    const size_t most = static_cast<size_t>(sglang_.max_running_requests) - running_.slots.size();
    if (pass_.slots.size() >= std::min(most, rows)) running_.full = true;
    if (running_.full) return;
    const Verdict verdict = Admit(waiting_[static_cast<size_t>(i)]);
    if (verdict == Verdict::kMemory) running_.full = !pass_.slots.empty() || !nobody_runs;
    if (verdict != Verdict::kGo) return;
  }
}

// One waiting request: taken whole, taken in part, or not. Returns what holds for the next one.
SglangScheduler::Verdict SglangScheduler::Admit(int32_t slot) {
  SglangRequest& r = requests_[slot];
  RadixTree::Place hit;
  // The last token is always computed.
  if (radix_) hit = tree_.Match(r.chain, (r.num_tokens() - 1) / sglang_.page_size);
  r.prefix = hit.pages * sglang_.page_size;
  if (sglang_.prefill_max_requests > 0 &&
      static_cast<int32_t>(pass_.slots.size()) >= sglang_.prefill_max_requests) {
    return Verdict::kStop;
  }
  if (r.ignore_eos && !radix_) return AdmitToItsEnd(slot);
  tree_.Lock(hit.node);  // what it hits is not there to be dropped for it
  int64_t n = r.num_tokens() - r.prefix;
  const int64_t outputs = std::clamp(r.max_new - r.num_outputs, 0, kMostExpectedOutputs);
  Verdict refused = Verdict::kGo;
  bool is_chunk = false;
  if (static_cast<double>(n + outputs + sglang_.page_size) >=
      static_cast<double>(available()) - pass_.total) {
    refused = Verdict::kMemory;
  } else if (sglang_.chunked_prefill_size < 0) {
    // The first prompt of a batch may be larger than the budget.
    if (!pass_.slots.empty() && CeilPage(n) >= pass_.rem_input) refused = Verdict::kStop;
  } else if (CeilPage(n) > pass_.rem_chunk) {
    is_chunk = true;
    n = FloorPage(pass_.rem_chunk);
    const int64_t align = sglang_.TruncationAlignSize();
    if (align > 0) n = n / align * align;
    n = FloorPage(r.prefix + n) - r.prefix;
    if (n <= 0) refused = Verdict::kStop;
  }
  if (refused != Verdict::kGo) {
    tree_.Unlock(hit.node);
    r.prefix = 0;
    return refused;
  }
  r.locked = hit.node;
  r.in_tree = r.prefix;
  Take(slot, static_cast<int32_t>(n), is_chunk);
  ++pass_.num_from_queue;
  if (is_chunk) chunked_ = slot;
  return State();
}

// With ignore_eos and no radix cache the engine foresees when everybody ends and what that frees.
SglangScheduler::Verdict SglangScheduler::AdmitToItsEnd(int32_t slot) {
  SglangRequest& r = requests_[slot];
  const int64_t n = r.num_tokens();
  const int64_t paged = CeilPage(n) + sglang_.page_size;
  const int64_t room = available();
  if (static_cast<double>(paged) >
      std::min(static_cast<double>(room - pass_.cur), static_cast<double>(room) - pass_.total)) {
    return Verdict::kMemory;
  }
  if (!EndsFit(r, paged)) return Verdict::kMemory;
  const bool is_chunk = n > pass_.rem_chunk;
  Take(slot, static_cast<int32_t>(is_chunk ? pass_.rem_chunk : n), is_chunk);
  ++pass_.num_from_queue;
  if (is_chunk) chunked_ = slot;
  return State();
}

bool SglangScheduler::EndsFit(const SglangRequest& r, int64_t paged) {
  if (pass_.has_estimate) {
    AddEnding(r, /*in_place=*/true);
  } else {
    pass_.has_estimate = true;
    AddEnding(r, /*in_place=*/false);
    for (const int32_t slot : running_.slots) AddEnding(requests_[slot], false);
    for (const int32_t slot : pass_.slots) AddEnding(requests_[slot], false);
    std::stable_sort(pass_.endings.begin(), pass_.endings.end(),
                     [](const PrefillPass::Ending& a, const PrefillPass::Ending& b) {
                       return a.tokens_left < b.tokens_left;
                     });
  }
  const int64_t room = available() - pass_.cur - paged;
  int64_t freed = 0;
  for (size_t i = 0; i < pass_.endings.size(); ++i) {
    const auto left = static_cast<int64_t>(pass_.endings.size() - i);
    const double least = static_cast<double>(room + freed) -
                         pass_.endings[i].tokens_left * static_cast<double>(left);
    if (least <= static_cast<double>(kReservedPerRequest * left)) return false;
    freed += pass_.endings[i].tokens_held;
  }
  return true;
}

void SglangScheduler::AddEnding(const SglangRequest& r, bool in_place) {
  const double left = r.max_new * ShareOf(r) - r.num_outputs;
  if (left <= 0) return;
  std::vector<PrefillPass::Ending>& endings = pass_.endings;
  const PrefillPass::Ending ending{left, r.num_tokens()};
  if (!in_place || endings.empty()) {
    endings.push_back(ending);
    return;
  }
  auto place = std::find_if(endings.begin(), endings.end(), [&](const PrefillPass::Ending& other) {
    return left <= other.tokens_left;
  });
  // Behind everybody it would be; SGLang puts it before the last one.
  if (place == endings.end()) --place;
  endings.insert(place, ending);
}

// With pages larger than a token more room is made than the batch needs, as there.
bool SglangScheduler::AllocatePrefill() {
  int64_t room = 0;
  int64_t needed = 0;
  for (const int32_t slot : pass_.slots) {
    const SglangRequest& r = requests_[slot];
    room += r.end - r.prefix + (sglang_.page_size > 1 ? sglang_.page_size : 0);
    needed += CeilPage(r.end) - CeilPage(r.prefix);
  }
  MakeRoom(room);
  if (needed > free_) return false;
  free_ -= needed;
  for (const int32_t slot : pass_.slots) {
    SglangRequest& r = requests_[slot];
    r.kv = r.end;
    r.retracted = false;
    if (!r.has_row) --free_rows_;
    r.has_row = true;
  }
  BV_CHECK(free_rows_ >= 0);
  return true;
}

// Everybody who runs joins the prompts with a token, if they all fit; else they sit out.
void SglangScheduler::MixInRunning() {
  if (overlap_ && RemoveEnding() > 0) running_.full = false;
  if (running_.slots.empty() || !DecodeFits(running_.slots)) return;
  AllocateDecode();
  running_.slots.clear();  // they come back with the batch; the flag stays
  mode_ = SglangMode::kMixed;
}

}  // namespace batchvar
