#include "kernels/experiment/served_request.h"

#include <limits>
#include <memory>
#include <utility>

#include "kernels/decoder/greedy.h"
#include "sim/base/check.h"

namespace batchvar {
namespace {

constexpr int64_t kRowsPerCall = 64;  // of one request: a long prompt goes in parts
constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

}  // namespace

void ServedRun::Add(int32_t index, ServedRequest* request) {
  requests_.push_back(request);
  if (index >= 0) by_index_[index] = request;
}

absl::Status ServedRun::Begin(ServedRequest* request, size_t pass) {
  ServedPass& begun = request->passes[pass];
  if (begun.has_begun) return absl::OkStatus();
  for (const PrefixHit& hit : begun.hits) {
    ServedRequest* producer = by_index_.at(hit.producer.request);
    const auto from = static_cast<size_t>(hit.producer.pass);
    if (absl::Status status = Ensure(producer, from, hit.end); !status.ok()) return status;
    BV_CHECK(begun.cache.length() == hit.begin);
    for (int64_t position = hit.begin; position < hit.end; ++position) {
      begun.cache.Append(producer->passes[from].cache.WordsOf(position));
    }
  }
  begun.has_begun = true;
  return absl::OkStatus();
}

absl::Status ServedRun::Finish(ServedRequest* request, size_t pass) {
  if (absl::Status status = Begin(request, pass); !status.ok()) return status;
  return RunPass(request, &request->passes[pass], kToTheEnd);
}

absl::Status ServedRun::Ensure(ServedRequest* request, size_t pass, int64_t end) {
  if (request->runs_through) {  // a token is that of the first pass that sampled it
    for (size_t earlier = 0; earlier < pass; ++earlier) {
      if (absl::Status status = Finish(request, earlier); !status.ok()) return status;
    }
  }
  if (absl::Status status = Begin(request, pass); !status.ok()) return status;
  ServedPass& ensured = request->passes[pass];
  if (absl::Status status = RunPass(request, &ensured, end); !status.ok()) return status;
  BV_CHECK(ensured.cache.length() >= end);
  return absl::OkStatus();
}

int64_t ServedRun::AddRows(ServedRequest* request, ServedPass* pass, int64_t end,
                           std::vector<DecoderRow>* rows) {
  int64_t count = 0;
  while (count < kRowsPerCall && pass->next + count < pass->events.size()) {
    const RowEvent& event = pass->events[pass->next + count];
    if (event.position >= end || event.position >= std::ssize(request->tokens)) break;
    BV_CHECK(event.position == pass->cache.length() + count);
    DecoderRow row;
    row.token = request->tokens[event.position];
    row.position = event.position;
    row.cache = &pass->cache;
    row.plan = event.plan.get();
    row.wants_logits = event.samples && request->runs_through;
    rows->push_back(row);
    ++count;
  }
  return count;
}

void ServedRun::TakeOutput(ServedRequest* request, ServedPass* pass, RowOutput* output) {
  const RowEvent& event = pass->events[pass->next++];
  const bool is_new = event.position + 1 == std::ssize(request->tokens);
  if (!event.samples || !request->runs_through || !is_new) return;
  RoundLogits(logits_, output->logits);
  const TopTwo best = FindTopTwo(output->logits);
  request->tokens.push_back(best.top);
  request->top_twos.push_back(best);
}

absl::Status ServedRun::RunPass(ServedRequest* request, ServedPass* pass, int64_t end) {
  while (true) {
    std::vector<DecoderRow> rows;
    std::vector<RowOutput> outputs;
    if (AddRows(request, pass, end, &rows) == 0) return absl::OkStatus();
    if (absl::Status status = decoder_->Forward(rows, &outputs); !status.ok()) return status;
    rows_computed_ += std::ssize(rows);
    for (RowOutput& output : outputs) TakeOutput(request, pass, &output);
  }
}

absl::Status ServedRun::Go(const std::function<void(int64_t done)>& progress) {
  while (true) {
    std::vector<std::pair<ServedRequest*, ServedPass*>> active;
    for (ServedRequest* request : requests_) {
      if (!request->runs_through) continue;
      size_t pass = 0;
      while (pass < request->passes.size() && request->passes[pass].IsDone()) ++pass;
      if (pass == request->passes.size()) continue;
      if (absl::Status status = Begin(request, pass); !status.ok()) return status;
      active.emplace_back(request, &request->passes[pass]);
    }
    if (active.empty()) return absl::OkStatus();
    std::vector<DecoderRow> rows;
    std::vector<int64_t> counts;
    for (auto& [request, pass] : active) {
      counts.push_back(AddRows(request, pass, kToTheEnd, &rows));
      BV_CHECK(counts.back() > 0 || pass->IsDone());
    }
    std::vector<RowOutput> outputs;
    if (absl::Status status = decoder_->Forward(rows, &outputs); !status.ok()) return status;
    rows_computed_ += std::ssize(rows);
    size_t output = 0;
    for (size_t i = 0; i < active.size(); ++i) {
      for (int64_t row = 0; row < counts[i]; ++row) {
        TakeOutput(active[i].first, active[i].second, &outputs[output++]);
      }
    }
    progress(rows_computed_);
  }
}

std::vector<RowEvent> AllRows(const ServedRequest& request,
                              const std::map<int32_t, const ServedRequest*>& by_index,
                              int32_t own_index) {
  std::vector<RowEvent> rows;
  for (const ServedPass& pass : request.passes) {
    for (const PrefixHit& hit : pass.hits) {
      if (hit.producer.request == own_index) continue;  // its own rows of an earlier pass
      const ServedRequest& producer = *by_index.at(hit.producer.request);
      for (const RowEvent& event : producer.passes[hit.producer.pass].events) {
        if (event.position < hit.begin || event.position >= hit.end) continue;
        rows.push_back(event);
        if (!event.samples) continue;
        RowPlan plan = *event.plan;  // what its head did is not part of the KV
        plan.Set(Op::kLmHead, nullptr);
        plan.Finish();
        rows.back().samples = false;
        rows.back().plan = std::make_shared<const RowPlan>(std::move(plan));
      }
    }
    rows.insert(rows.end(), pass.events.begin(), pass.events.end());
  }
  return rows;
}

}  // namespace batchvar
