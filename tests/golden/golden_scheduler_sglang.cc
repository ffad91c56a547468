// Every case of reference/scheduler_sglang, step by step and field by field, against the schedule
// that the real SGLang scheduler made (sglang 0.5.23). The loop below is the driver's, as the
// folder's README says it.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/serving/sglang_scheduler.h"
#include "tests/golden/golden_schedule.h"

namespace batchvar {
namespace {

using nlohmann::json;

SchedulerConfig ConfigOf(const json& config) {
  SchedulerConfig out;
  out.policy = SchedulerPolicy::kSglang;
  out.max_model_len = config.at("context_length");
  out.output_ends_by = OutputEndsBy::kLength;
  SglangConfig& sglang = out.sglang;
  sglang.page_size = config.at("page_size");
  sglang.max_total_tokens = config.at("max_total_tokens");
  sglang.chunked_prefill_size = config.at("chunked_prefill_size");
  sglang.max_prefill_tokens = config.at("max_prefill_tokens");
  sglang.max_running_requests = config.at("max_running_requests");
  sglang.enable_mixed_chunk = config.at("enable_mixed_chunk");
  sglang.schedule_policy =
      config.at("schedule_policy") == "lpm" ? SchedulePolicy::kLpm : SchedulePolicy::kFcfs;
  sglang.disable_radix_cache = config.at("disable_radix_cache");
  sglang.schedule_conservativeness = config.at("schedule_conservativeness");
  sglang.disable_overlap_schedule = !config.at("overlap").get<bool>();
  sglang.enable_deterministic_inference = config.at("truncation_align_size") != 0;
  sglang.flashinfer_prefill_split_tile_size = config.at("truncation_align_size");
  if (!config.at("prefill_max_requests").is_null()) {
    sglang.prefill_max_requests = config.at("prefill_max_requests");
  }
  return out;
}

const char* ModeName(SglangMode mode) {
  switch (mode) {
    case SglangMode::kIdle: return "idle";
    case SglangMode::kExtend: return "extend";
    case SglangMode::kMixed: return "mixed";
    case SglangMode::kDecode: return "decode";
  }
  return "?";
}

double Rounded(double ratio) { return std::round(ratio * 1e9) / 1e9; }

// Replays one case and describes each round as the golden files do.
class Replay {
 public:
  explicit Replay(const std::vector<json>& lines) {
    for (const json& line : lines) {
      if (line.at("type") == "case") config_ = line.at("config");
      if (line.at("type") != "request") continue;
      requests_.push_back(GoldenRequest(line));
      requests_.back().ignore_eos = line.value("ignore_eos", config_.at("ignore_eos").get<bool>());
      ids_.push_back(line.at("id"));
    }
    scheduler_ = std::make_unique<SglangScheduler>(ConfigOf(config_));
  }

  // False at the end of the run. A dead server leaves a line of type "crash".
  bool Step(json* out) {
    if (scheduler_->failure() != nullptr) return false;
    const bool busy = scheduler_->HasUnfinished() || scheduler_->HasStepInFlight();
    if (quiet_rounds_ >= 1 && (!busy || quiet_rounds_ >= 3)) {
      if (next_ == requests_.size()) return false;
      now_ = std::max(now_, requests_[next_].arrival_ns);
      quiet_rounds_ = 0;
    }
    json added = json::array();
    for (; next_ < requests_.size() && requests_[next_].arrival_ns <= now_; ++next_) {
      scheduler_->Add(requests_[next_], static_cast<int32_t>(next_));
      added.push_back(ids_[next_]);
    }
    const StepBatch& batch = scheduler_->Schedule();
    if (scheduler_->failure() != nullptr) {
      *out = {{"type", "crash"},
              {"step", step_},
              {"now", now_},
              {"add", std::move(added)},
              {"reason", scheduler_->failure()}};
      return true;
    }
    *out = Describe(batch, std::move(added));
    json finished = json::array();
    for (const auto& done : scheduler_->ApplyOutputs().finished) {
      finished.push_back(ids_[done.request]);
    }
    const bool quiet = batch.rows.empty() && finished.empty();
    (*out)["finished"] = std::move(finished);
    now_ += GoldenStepTime(config_.at("clock"), batch.num_tokens);
    ++step_;
    quiet_rounds_ = quiet ? quiet_rounds_ + 1 : 0;
    return true;
  }

 private:
  json IdsOf(const std::vector<int32_t>& requests) const {
    json ids = json::array();
    for (const int32_t request : requests) ids.push_back(ids_[request]);
    return ids;
  }

  json Describe(const StepBatch& batch, json added) {
    json rows = json::array();
    json first = json::array();
    json resumed = json::array();
    for (const int32_t request : scheduler_->preempted()) waits_again_.insert(request);
    for (const ScheduledRow& row : batch.rows) {
      const int64_t id = ids_[row.request];
      rows.push_back({id, row.num_scheduled, row.num_computed, static_cast<int>(row.phase)});
      if (seen_.insert(row.request).second) first.push_back(id);
      if (waits_again_.erase(row.request) > 0) resumed.push_back(id);
    }
    const SglangScheduler::View view = scheduler_->LookInside();
    return {{"type", "step"},
            {"step", step_},
            {"now", now_},
            {"add", std::move(added)},
            {"mode", ModeName(view.mode)},
            {"tot", batch.num_tokens},
            {"sched", std::move(rows)},
            {"new", std::move(first)},
            {"resumed", std::move(resumed)},
            {"preempted", IdsOf(scheduler_->preempted())},
            {"chunked", view.chunked < 0 ? json() : json(ids_[view.chunked])},
            {"n_run", view.running.size()},
            {"n_wait", view.waiting.size()},
            {"full", view.full ? 1 : 0},
            {"free", view.free_tokens},
            {"evictable", view.evictable_tokens},
            {"ratio", Rounded(view.new_token_ratio)},
            {"wait", IdsOf(view.waiting)},
            {"running", IdsOf(view.running)}};
  }

  json config_;
  std::vector<Request> requests_;
  std::vector<int64_t> ids_;
  std::unique_ptr<SglangScheduler> scheduler_;
  size_t next_ = 0;
  int64_t now_ = 0;
  int64_t step_ = 0;
  int quiet_rounds_ = 0;
  std::set<int32_t> seen_;
  std::set<int32_t> waits_again_;
};

class GoldenSchedulerSglang : public testing::TestWithParam<std::string> {};

TEST_P(GoldenSchedulerSglang, EqualsTheRealScheduler) {
  if (GetParam().empty()) {
    GTEST_SKIP() << "missing folder: " << ReferencePath("scheduler_sglang");
  }
  const std::vector<json> lines = GoldenLines(GetParam());
  Replay replay(lines);
  GoldenTotals totals;
  for (const json& line : lines) {
    const std::string type = line.at("type");
    json ours;
    if (type == "summary") {
      EXPECT_FALSE(replay.Step(&ours)) << "the real scheduler had ended; ours goes on:\n" << ours;
      totals.ExpectEqual(line);
    }
    if (type != "step" && type != "crash") continue;
    ASSERT_TRUE(replay.Step(&ours)) << "ours ended before step\n" << line;
    ASSERT_EQ(ours.at("type"), type) << "\nreal: " << line << "\nours: " << ours;
    if (type == "crash") {  // the reason in ours begins with theirs and says more
      const std::string reason = line.at("reason");
      EXPECT_EQ(ours.at("reason").get<std::string>().substr(0, reason.size()), reason);
      ours["reason"] = reason;
    }
    const json compared = OnlyRecorded(ours, line);
    ASSERT_EQ(compared, line) << "first differing step\nreal: " << line << "\nours: " << compared;
    if (type == "step") totals.Count(ours);
  }
  EXPECT_GT(totals.steps, 0U);
}

INSTANTIATE_TEST_SUITE_P(Reference, GoldenSchedulerSglang,
                         testing::ValuesIn(GoldenCases("scheduler_sglang")), GoldenCaseName);

}  // namespace
}  // namespace batchvar
