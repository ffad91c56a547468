// ExperimentSpec, TrialsSpec -> YAML that reads back into an equal one. Keys stand in the order of
// docs/config.md; keys that the chosen policy, process or padding does not use are left out,
// because reading them back would be an error.
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/load_experiment.h"
#include "sim/config/load_trials.h"
#include "sim/config/scalar_text.h"
#include "sim/config/spec_names.h"
#include "sim/config/spec_parts.h"
#include "sim/config/yaml_writer.h"

namespace batchvar {
namespace {

void WriteModel(const ModelSpec& model, YamlWriter* out) {
  out->Open("model");
  out->Text("name", model.name);
  out->Integer("layers", model.layers);
  out->Integer("hidden_size", model.hidden_size);
  out->Integer("intermediate_size", model.intermediate_size);
  out->Integer("q_heads", model.q_heads);
  out->Integer("kv_heads", model.kv_heads);
  out->Integer("head_dim", model.head_dim);
  out->Integer("vocab_size", model.vocab_size);
  out->Integer("max_positions", model.max_positions);
  out->Bool("qk_norm", model.qk_norm);
  out->Bool("tied_embeddings", model.tied_embeddings);
  out->Integer("num_experts", model.num_experts);
  if (model.IsMoe()) {
    out->Integer("experts_per_token", model.experts_per_token);
    out->Integer("moe_intermediate_size", model.moe_intermediate_size);
  }
  out->Text("source", model.source);
  out->Close();
}

void WriteDevice(const DeviceSpec& device, YamlWriter* out) {
  out->Open("device");
  out->Text("name", device.name);
  out->Integer("sm_count", device.sm_count);
  out->Integer("compute_capability", device.compute_capability);
  out->Integer("memory_bytes", device.memory_bytes);
  out->Integer("memory_bytes_per_s", device.memory_bytes_per_s);
  out->Integer("dense_16bit_flops", device.dense_16bit_flops);
  out->Integer("interconnect_bytes_per_s", device.interconnect_bytes_per_s);
  out->Integer("reserve_bytes", device.reserve_bytes);
  out->Integer("step_overhead_ns", device.step_overhead_ns);
  out->Text("source", device.source);
  out->Close();
}

void WritePadding(const PaddingSpec& padding, YamlWriter* out) {
  out->Word("padding", NameIn(kPaddingNames, padding.mode));
  if (padding.mode == PaddingMode::kExact) return;
  if (padding.by_phase) out->Bool("enable_piecewise_cuda_graph", padding.capture_prefill);
  if (padding.sizes_auto) {
    out->Word("capture_sizes", "auto");
    out->Word("capture_version", NameIn(kCaptureVersionNames, padding.rule));
    if (padding.by_phase) out->Integer("cuda_graph_max_bs", padding.cuda_graph_max_bs);
    return;
  }
  std::string list;
  for (const int32_t size : padding.sizes) {
    list += (list.empty() ? "[" : ", ") + std::to_string(size);
  }
  out->Word("capture_sizes", list + "]");
}

void WriteBlockKeys(const ExperimentSpec& spec, YamlWriter* out) {
  const SchedulerConfig& config = spec.scheduler;
  const bool is_vllm = config.policy == SchedulerPolicy::kVllmV1;
  if (is_vllm) out->Integer("max_num_batched_tokens", config.max_num_batched_tokens);
  out->Integer("max_num_seqs", config.max_num_seqs);
  out->Integer("max_model_len", config.max_model_len);
  out->Integer("block_size", config.block_size);
  out->Integer("num_gpu_blocks", config.num_gpu_blocks);
  out->Number("gpu_memory_utilization", spec.gpu_memory_utilization);
  if (is_vllm) {
    out->Bool("enable_chunked_prefill", config.enable_chunked_prefill);
    out->Integer("chunk_alignment", config.chunk_alignment);
    out->Integer("long_prefill_token_threshold", config.long_prefill_token_threshold);
    out->Bool("long_prefill_token_threshold_adaptive",
              config.long_prefill_token_threshold_adaptive);
    out->Bool("enable_prefix_caching", config.enable_prefix_caching);
    out->Bool("async_scheduling", config.async_scheduling);
    out->Bool("scheduler_reserve_full_isl", config.scheduler_reserve_full_isl);
    out->Number("watermark", config.watermark);
    out->Word("priority", NameIn(kQueuePriorityNames, config.priority));
  }
}

void WriteScheduler(const ExperimentSpec& spec, YamlWriter* out) {
  const SchedulerConfig& config = spec.scheduler;
  out->Open("scheduler");
  out->Word("policy", NameIn(kSchedulerPolicyNames, config.policy));
  if (config.policy == SchedulerPolicy::kSglang) {
    WriteSglangKeys(spec, out);
  } else {
    WriteBlockKeys(spec, out);
  }
  out->Word("output_ends_by", NameIn(kOutputEndsByNames, config.output_ends_by));
  WritePadding(spec.padding, out);
  out->Close();
}

void WriteTrace(const TraceSpec& trace, YamlWriter* out) {
  out->Open("trace");
  out->Text("path", trace.path);
  out->Word("format", trace.format);
  out->Integer("block_size", trace.block_size);
  out->Number("time_scale", trace.time_scale);
  out->Number("start_s", trace.start_s);
  out->Number("end_s", trace.end_s);
  out->Integer("max_requests", trace.max_requests);
  out->Bool("strict", trace.strict);
  out->Close();
}

std::string RatesText(const std::vector<RatePiece>& rates) {
  std::string text;
  for (const RatePiece& piece : rates) {
    text += (text.empty() ? "[" : ", ") + std::string("{duration_s: ") +
            NumberText(piece.duration_s) + ", rate_per_s: " + NumberText(piece.rate_per_s) + "}";
  }
  return text + "]";
}

void WriteArrivals(const ArrivalSpec& arrivals, YamlWriter* out) {
  out->Open("arrivals");
  out->Word("process", NameIn(kArrivalProcessNames, arrivals.process));
  switch (arrivals.process) {
    case ArrivalProcess::kConstant:
    case ArrivalProcess::kPoisson: out->Number("rate_per_s", arrivals.rate_per_s); break;
    case ArrivalProcess::kGamma:
    case ArrivalProcess::kWeibull:
      out->Number("rate_per_s", arrivals.rate_per_s);
      out->Number("cv", arrivals.cv);
      break;
    case ArrivalProcess::kAllAtOnce: break;
    case ArrivalProcess::kClosedLoop:
      out->Integer("concurrency", arrivals.concurrency);
      out->Number("think_time_s", arrivals.think_time_s);
      break;
    case ArrivalProcess::kPiecewise: out->Word("rates", RatesText(arrivals.rates)); break;
    case ArrivalProcess::kRamp:
      out->Number("start_rate_per_s", arrivals.start_rate_per_s);
      out->Number("end_rate_per_s", arrivals.end_rate_per_s);
      out->Number("duration_s", arrivals.duration_s);
      break;
  }
  out->Close();
}

void WriteLength(std::string_view key, const LengthSpec& length, YamlWriter* out) {
  const char* name = NameIn(kLengthNames, length.distribution);
  out->Open(key);
  if (length.distribution == LengthDistribution::kFixed) {
    out->Integer(name, length.fixed);
    out->Close();
    return;
  }
  out->Open(name);
  if (length.distribution == LengthDistribution::kEmpirical) {
    out->Text("path", length.path);
  } else {
    if (length.distribution == LengthDistribution::kZipf) {
      out->Number("theta", length.theta);
    } else if (length.distribution != LengthDistribution::kUniform) {
      out->Number("mean", length.mean);
      out->Number("stddev", length.stddev);
    }
    out->Integer("min", length.min);
    out->Integer("max", length.max);
  }
  out->Close();
  out->Close();
}

void WriteWorkload(const WorkloadSpec& workload, YamlWriter* out) {
  out->Open("workload");
  if (workload.has_trace) {
    WriteTrace(workload.trace, out);
  } else {
    WriteArrivals(workload.synthetic.arrivals, out);
    WriteLength("prompt_len", workload.synthetic.prompt_len, out);
    WriteLength("output_len", workload.synthetic.output_len, out);
    out->Integer("num_requests", workload.synthetic.num_requests);
  }
  out->Close();
}

// Device, scheduler and policies: what a server is.
void WriteServer(const ExperimentSpec& spec, YamlWriter* out) {
  WriteDevice(spec.device, out);
  out->Integer("tp", spec.tp);
  out->Word("dtype", DTypeName(spec.dtype));
  WriteScheduler(spec, out);
  WritePolicies(spec.policies, out);
}

void WriteWeights(const TrialsSpec& trials, YamlWriter* out) {
  if (!trials.synthetic.has_value()) {
    out->Text("weights", trials.weights);
    return;
  }
  const SyntheticSpec& spec = trials.synthetic->spec;
  out->Open("weights");
  out->Open("synthetic");
  out->Word("seed", std::to_string(spec.seed));
  if (spec.alpha.has_value()) out->Number("alpha", *spec.alpha);
  out->Number("beta", spec.beta);
  out->Close();
  out->Close();
}

std::string ArmText(const ArmSpec& arm, const std::string& first) {
  std::string text = "{name: " + QuotedText(arm.name);
  if (arm.against != first) text += ", against: " + QuotedText(arm.against);
  text += ", fillers: " + std::to_string(arm.fillers);
  text += arm.warm ? ", warm: true" : ", warm: false";
  text += ", seed: " + std::to_string(arm.seed);
  text += ", kv_placement: " + std::to_string(arm.kv_placement);
  std::string set;
  for (const ConfigOverride& key : arm.set) {
    set += (set.empty() ? "" : ", ") + key.key + ": " + FlowText(key.value);
  }
  return text + (set.empty() ? "}" : ", set: {" + set + "}}");
}

}  // namespace

std::string ExpandToYaml(const TrialsSpec& trials) {
  YamlWriter out;
  out.Integer("schema_version", trials.base.schema_version);
  out.Word("seed", std::to_string(trials.base.seed));
  if (trials.synthetic.has_value()) {
    WriteModel(trials.synthetic->model, &out);
  } else if (trials.plan_model.empty()) {
    WriteModel(trials.base.model, &out);
  } else {
    out.Text("model", trials.weights);
  }
  if (!trials.plan_model.empty()) out.Text("plan_model", trials.plan_model);
  WriteServer(trials.base, &out);
  out.Open("experiment");
  WriteWeights(trials, &out);
  if (trials.prompt_ids.empty()) out.Text("prompt", trials.prompt);
  std::string ids;
  for (const int64_t id : trials.prompt_ids) ids += (ids.empty() ? "" : ", ") + std::to_string(id);
  if (!ids.empty()) out.Word("prompt_ids", "[" + ids + "]");
  out.Bool("add_bos", trials.add_bos);
  out.Integer("max_tokens", trials.max_tokens);
  out.Integer("trials", trials.trials);
  out.Number("window_s", trials.window_s);
  out.Word("logits", DTypeName(trials.logits));
  out.Word("fillers", "{prompt_tokens: " + std::to_string(trials.filler_prompt_tokens) +
                          ", output_tokens: " + std::to_string(trials.filler_output_tokens) + "}");
  out.Open("arms");
  for (const ArmSpec& arm : trials.arms) out.Item(ArmText(arm, trials.arms.front().name));
  out.Close();
  out.Close();
  return out.TakeText();
}

std::string ExpandToYaml(const ExperimentSpec& spec) {
  YamlWriter out;
  out.Integer("schema_version", spec.schema_version);
  out.Word("seed", std::to_string(spec.seed));
  WriteModel(spec.model, &out);
  WriteServer(spec, &out);
  WriteWorkload(spec.workload, &out);
  out.Open("goodput");
  out.Number("ttft_ms", spec.goodput.ttft_ms);
  out.Number("tpot_ms", spec.goodput.tpot_ms);
  out.Number("e2el_ms", spec.goodput.e2el_ms);
  out.Close();
  return out.TakeText();
}

}  // namespace batchvar
