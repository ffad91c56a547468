// `scheduler:` -> SchedulerConfig and PaddingSpec. Keys, defaults and start-up checks are those of
// vLLM 0.32 (config/scheduler.py and engine/arg_utils.py, 2026-10), in the server's context; those
// of policy sglang are in load_sglang.cc.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "sim/base/time.h"
#include "sim/config/scheduler_keys.h"
#include "sim/config/spec_names.h"
#include "sim/config/spec_parts.h"
#include "sim/plan/step_time.h"

namespace batchvar {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr double kPpm = 1e6;
// An explicit capture list becomes a table with an entry for every M up to the largest.
constexpr int64_t kMaxCaptureSize = 1 << 20;

struct BatchDefaults {
  int32_t max_num_batched_tokens;
  int32_t max_num_seqs;
};

bool IsA100(const DeviceSpec& device) {
  return absl::StrContains(absl::AsciiStrToLower(device.name), "a100");
}

// vLLM's server defaults go by memory and, for the A100, by name.
BatchDefaults DefaultsFor(const DeviceSpec& device) {
  if (device.memory_bytes >= 160 * kGiB) return {16384, 1024};
  if (device.memory_bytes >= 70 * kGiB && !IsA100(device)) return {8192, 1024};
  return {2048, 256};
}

class SchedulerSection {
 public:
  SchedulerSection(const ConfigNode& node, const SourceMark& place, FirstError* errors,
                   ExperimentSpec* spec)
      : reader_(node, "scheduler", errors),
        place_(place),
        errors_(errors),
        spec_(spec),
        config_(spec->scheduler) {}

  void Read() {
    ReadPolicy();
    RefuseKeysOfOtherPolicies(config_.policy, &reader_);
    if (!IsVllm()) TurnOffVllmKeys();
    if (IsSglang()) {
      ReadSglangKeys(&reader_, spec_);
    } else {
      ReadMemory();
      if (IsVllm()) ReadVllmKeys();
      ReadBatchLimits();
    }
    ReadPadding();
    reader_.Finish();
    if (!errors_->ok()) return;
    ResolveCaptureSizes();
    if (IsSglang()) {
      ResolveSglang(place_, &reader_, errors_, spec_);
    } else {
      CheckLimits();
      ResolveBlocks();
    }
  }

 private:
  bool IsVllm() const { return config_.policy == SchedulerPolicy::kVllmV1; }
  bool IsSglang() const { return config_.policy == SchedulerPolicy::kSglang; }

  void ReadPolicy() {
    if (reader_.IsWord("policy", "fcfs") || reader_.IsWord("policy", "priority")) {
      const std::string word(reader_.IsWord("policy", "fcfs") ? "fcfs" : "priority");
      reader_.Error("policy",
                    "is the scheduler here (vllm_v1, static, orca, sglang); for vLLM's own "
                    "`policy: " +
                        word + "` write `priority: " + word + "`");
    }
    reader_.Enum("policy", kSchedulerPolicyNames, &config_.policy);
    reader_.Enum("output_ends_by", kOutputEndsByNames, &config_.output_ends_by);
  }

  void ReadMemory() {
    config_.max_model_len = spec_->model.max_positions;
    if (reader_.IsWord("max_model_len", "auto")) {
      reader_.Child("max_model_len");
    } else {
      reader_.Integer("max_model_len", 2, spec_->model.max_positions, &config_.max_model_len);
    }
    reader_.Integer("block_size", 1, kMaxTokens, &config_.block_size);
    if (reader_.IsWord("num_gpu_blocks", "auto")) {
      reader_.Child("num_gpu_blocks");
    } else {
      reader_.Integer("num_gpu_blocks", 2, kMaxInt32, &config_.num_gpu_blocks);
    }
    reader_.Number("gpu_memory_utilization", {.min = 0, .min_open = true, .max = 1},
                   &spec_->gpu_memory_utilization);
  }

  void ReadVllmKeys() {
    reader_.Bool("enable_chunked_prefill", &config_.enable_chunked_prefill);
    reader_.Integer("chunk_alignment", 0, kMaxTokens, &config_.chunk_alignment);
    reader_.Integer("long_prefill_token_threshold", 0, kMaxTokens,
                    &config_.long_prefill_token_threshold);
    reader_.Bool("long_prefill_token_threshold_adaptive",
                 &config_.long_prefill_token_threshold_adaptive);
    reader_.Bool("enable_prefix_caching", &config_.enable_prefix_caching);
    reader_.Bool("async_scheduling", &config_.async_scheduling);
    reader_.Bool("scheduler_reserve_full_isl", &config_.scheduler_reserve_full_isl);
    reader_.Number("watermark", {.min = 0, .max = 1, .max_open = true}, &config_.watermark);
    reader_.Enum("priority", kQueuePriorityNames, &config_.priority);
  }

  // What a policy does not use is off, so that nobody reads a default as a fact.
  void TurnOffVllmKeys() {
    config_.enable_chunked_prefill = false;
    config_.enable_prefix_caching = false;
    config_.async_scheduling = false;
    config_.scheduler_reserve_full_isl = false;
  }

  // A default gives way to what was said about the other limit, as in vLLM.
  void ReadBatchLimits() {
    const BatchDefaults defaults = DefaultsFor(spec_->device);
    config_.max_num_seqs = defaults.max_num_seqs;
    config_.max_num_batched_tokens = defaults.max_num_batched_tokens;
    reader_.Integer("max_num_seqs", 1, kMaxTokens, &config_.max_num_seqs);
    if (!IsVllm()) return;
    if (reader_.Has("max_num_batched_tokens")) {
      reader_.Integer("max_num_batched_tokens", 1, kMaxTokens, &config_.max_num_batched_tokens);
    } else {
      reader_.Child("max_num_batched_tokens");  // a key of this section, though absent
      int64_t tokens = config_.max_num_batched_tokens;
      if (!config_.enable_chunked_prefill)
        tokens = std::max<int64_t>(tokens, config_.max_model_len);
      const int64_t most = int64_t{config_.max_num_seqs} * config_.max_model_len;
      config_.max_num_batched_tokens = static_cast<int32_t>(std::min(tokens, most));
    }
    if (!reader_.Has("max_num_seqs")) {
      config_.max_num_seqs = std::min(config_.max_num_seqs, config_.max_num_batched_tokens);
    }
  }

  void ReadPadding() {
    PaddingSpec& padding = spec_->padding;
    padding.by_phase = IsSglang();
    padding.rule = IsSglang() ? CaptureRule::kSglang0523 : CaptureRule::kVllm032;
    reader_.Enum("padding", kPaddingNames, &padding.mode);
    if (padding.mode == PaddingMode::kExact) {
      reader_.Refuse(
          {"capture_sizes", "capture_version", "cuda_graph_max_bs", "enable_piecewise_cuda_graph"},
          "'padding: exact'");
      return;
    }
    if (IsSglang()) reader_.Bool("enable_piecewise_cuda_graph", &padding.capture_prefill);
    padding.sizes_auto = !reader_.Has("capture_sizes") || reader_.IsWord("capture_sizes", "auto");
    if (padding.sizes_auto) {
      reader_.Child("capture_sizes");
      reader_.Enum("capture_version", kCaptureVersionNames, &padding.rule);
      if (batchvar::IsSglang(padding.rule) != IsSglang()) {
        reader_.Error("capture_version", std::string(NameIn(kCaptureVersionNames, padding.rule)) +
                                             " is a rule of another engine than policy '" +
                                             NameIn(kSchedulerPolicyNames, config_.policy) + "'");
      }
      if (IsSglang()) ReadLargestGraph();
      return;
    }
    reader_.Refuse({"capture_version", "cuda_graph_max_bs"}, "a list of capture_sizes");
    ReadCaptureList();
  }

  void ReadLargestGraph() {
    PaddingSpec& padding = spec_->padding;
    padding.cuda_graph_max_bs = SglangLargestBatch(spec_->device.memory_bytes, spec_->tp);
    if (reader_.IsWord("cuda_graph_max_bs", "auto")) {
      reader_.Child("cuda_graph_max_bs");
    } else {
      reader_.Integer("cuda_graph_max_bs", 1, kMaxCaptureSize, &padding.cuda_graph_max_bs);
    }
  }

  void ReadCaptureList() {
    std::vector<int32_t>& sizes = spec_->padding.sizes;
    reader_.Integers("capture_sizes", 1, kMaxCaptureSize, &sizes);
    if (!errors_->ok()) return;
    if (sizes.empty()) reader_.Error("capture_sizes", "is empty; write 'padding: exact' instead");
    const auto descent = std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>());
    if (descent != sizes.end()) {
      reader_.Error("capture_sizes", "must ascend, but " + std::to_string(*(descent + 1)) +
                                         " follows " + std::to_string(*descent));
    }
  }

  // Combinations with which vLLM refuses to start.
  void CheckLimits() {
    if (!IsVllm()) return;
    const int32_t tokens = config_.max_num_batched_tokens;
    const std::string budget = "max_num_batched_tokens, " + std::to_string(tokens);
    if (tokens < config_.max_num_seqs) {
      reader_.Error("max_num_seqs", "is more than " + budget + "; lower one or raise the other");
    }
    if (!config_.enable_chunked_prefill && tokens < config_.max_model_len) {
      reader_.Error("enable_chunked_prefill",
                    "false needs a max_num_batched_tokens of at least max_model_len, " +
                        std::to_string(config_.max_model_len) + ", but it is " +
                        std::to_string(tokens));
    }
    if (config_.chunk_alignment > tokens) {
      reader_.Error("chunk_alignment", "is more than " + budget + ", so no chunk could be cut");
    }
  }

  void ResolveBlocks() {
    const bool is_auto = config_.num_gpu_blocks == 0;
    if (is_auto) {
      const auto ppm = static_cast<int64_t>(std::llround(spec_->gpu_memory_utilization * kPpm));
      const int64_t blocks = NumGpuBlocks(spec_->model, spec_->device, spec_->tp, spec_->dtype,
                                          config_.block_size, ppm);
      if (blocks < 2) {
        errors_->Add(place_, reader_.FieldOf("num_gpu_blocks"),
                     "the weights of " + spec_->model.name + " on " + std::to_string(spec_->tp) +
                         " x " + spec_->device.name + " leave no memory for a KV cache; raise tp " +
                         "or scheduler.gpu_memory_utilization");
        return;
      }
      config_.num_gpu_blocks = static_cast<int32_t>(std::min<int64_t>(blocks, kMaxInt32));
    }
    CheckOneSequenceFits(is_auto);
  }

  // vLLM refuses to start, too, when one sequence of max_model_len does not fit.
  void CheckOneSequenceFits(bool blocks_are_auto) {
    const int64_t usable = config_.num_gpu_blocks - 1;  // block 0 is the null block
    if (CeilDiv(config_.max_model_len, config_.block_size) <= usable) return;
    const bool len_is_auto =
        !reader_.Has("max_model_len") || reader_.IsWord("max_model_len", "auto");
    const char* key = len_is_auto && !blocks_are_auto ? "num_gpu_blocks" : "max_model_len";
    const SourceMark& mark = len_is_auto && blocks_are_auto ? place_ : reader_.MarkOf(key);
    const std::string tokens = std::to_string(usable * config_.block_size);
    errors_->Add(mark, reader_.FieldOf(key),
                 "one sequence of max_model_len " + std::to_string(config_.max_model_len) +
                     " does not fit: the KV cache's " + std::to_string(config_.num_gpu_blocks) +
                     " blocks hold " + tokens + " tokens; lower scheduler.max_model_len to " +
                     tokens + " or less");
  }

  void ResolveCaptureSizes() {
    PaddingSpec& padding = spec_->padding;
    if (padding.mode == PaddingMode::kExact) return;
    if (IsSglang()) {
      if (padding.sizes_auto) {
        padding.sizes = SglangDecodeSizes(padding.rule, padding.cuda_graph_max_bs);
      } else {
        padding.cuda_graph_max_bs = padding.sizes.back();
      }
      const int32_t most = std::max(config_.sglang.chunked_prefill_size, 0);
      if (padding.capture_prefill) padding.prefill_sizes = SglangPrefillSizes(most);
      return;
    }
    if (!padding.sizes_auto) return;
    padding.sizes = CaptureSizes(padding.rule, config_.max_num_seqs, config_.max_num_batched_tokens,
                                 spec_->device.compute_capability);
  }

  MapReader reader_;
  const SourceMark& place_;
  FirstError* errors_;
  ExperimentSpec* spec_;
  SchedulerConfig& config_;
};

}  // namespace

void ReadScheduler(const ConfigNode& node, const SourceMark& place, FirstError* errors,
                   ExperimentSpec* spec) {
  SchedulerSection(node, place, errors, spec).Read();
}

}  // namespace batchvar
