// The keys of policy sglang. Names, defaults and start-up checks are those of SGLang 0.5.23
// (server_args.py and model_runner.py; golden cases of 2026-10, sources read 2026-11-30).
#include <algorithm>
#include <cmath>
#include <string>

#include "sim/config/spec_names.h"
#include "sim/config/spec_parts.h"
#include "sim/plan/step_time.h"

namespace batchvar {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr double kMiB = 1 << 20;
constexpr double kPpm = 1e6;

// What is kept from the KV pool, in MiB (server_args.py).
constexpr double kReservedMiB = 512;
constexpr double kReservedMiBPerToken = 1.5;  // of a prefill step
constexpr int32_t kLeastPrefillTokens = 2048;
constexpr double kReservedMiBPerGraphRow = 2;
constexpr double kReservedMiBPerRank = 128;
constexpr double kLeastReservedMiBOnLargeDevices = 10 * 1024;  // above 60 GiB
constexpr int64_t kLargeDeviceGiB = 60;

// Requests that run at once, by the pool (model_runner.py).
constexpr int64_t kRunningPerContext = 512;
constexpr int64_t kLeastRunning = 2048;
constexpr int64_t kMostRunning = 4096;

constexpr int32_t kShortestContext = 8;  // some tokens of every request are the engine's

int32_t ChunkByMemory(const DeviceSpec& device) {
  if (device.memory_bytes < 20 * kGiB) return 2048;
  if (device.memory_bytes < 60 * kGiB) return 4096;
  if (device.memory_bytes < 160 * kGiB) return 8192;
  return 16384;
}

// The part of the memory that weights and KV get, to three digits as there.
double MemFraction(const ExperimentSpec& spec) {
  const SglangConfig& sglang = spec.scheduler.sglang;
  const int32_t prefill =
      sglang.chunked_prefill_size > 0 ? sglang.chunked_prefill_size : sglang.max_prefill_tokens;
  const double memory = std::floor(static_cast<double>(spec.device.memory_bytes) / kMiB);
  double reserved = kReservedMiB + kReservedMiBPerToken * std::max(prefill, kLeastPrefillTokens) +
                    kReservedMiBPerGraphRow * spec.padding.cuda_graph_max_bs +
                    kReservedMiBPerRank * spec.tp;
  if (spec.device.memory_bytes > kLargeDeviceGiB * kGiB) {
    reserved = std::max(reserved, kLeastReservedMiBOnLargeDevices);
  }
  return std::round((memory - reserved) / memory * 1000) / 1000;
}

// Combinations with which the server does not start, or never ends a request.
void CheckKeys(const ExperimentSpec& spec, MapReader* reader) {
  const SglangConfig& sglang = spec.scheduler.sglang;
  const int32_t chunk = sglang.chunked_prefill_size;
  if (chunk == 0 || (chunk > 0 && chunk % sglang.page_size != 0)) {
    reader->Error("chunked_prefill_size",
                  "must be -1 (prompts are not cut) or a multiple of page_size, " +
                      std::to_string(sglang.page_size) + ", got " + std::to_string(chunk));
  }
  const int32_t align = sglang.TruncationAlignSize();
  if (chunk > 0 && align > chunk) {
    reader->Error("chunked_prefill_size",
                  std::to_string(chunk) +
                      " is less than the length to which deterministic mode aligns first chunks, " +
                      std::to_string(align) +
                      ": a longer prompt would wait for ever (sglang#36344), so the server does "
                      "not start");
  }
  if (sglang.ignore_eos && spec.scheduler.output_ends_by == OutputEndsBy::kEos) {
    reader->Error("ignore_eos",
                  "true needs 'output_ends_by: length': a request whose stop token is ignored has "
                  "no other end than context_length");
  }
}

void ResolvePool(const SourceMark& place, MapReader* reader, FirstError* errors,
                 ExperimentSpec* spec) {
  SglangConfig& sglang = spec->scheduler.sglang;
  if (sglang.max_total_tokens > 0) {
    const int32_t whole = sglang.max_total_tokens / sglang.page_size * sglang.page_size;
    if (sglang.max_total_tokens != whole) {
      reader->Error("max_total_tokens", "must be a multiple of page_size, " +
                                            std::to_string(sglang.page_size) + "; write " +
                                            std::to_string(std::max(whole, sglang.page_size)));
    }
    return;
  }
  DeviceSpec device = spec->device;
  device.reserve_bytes = 0;  // mem_fraction_static leaves room for activations and graphs
  const auto ppm = static_cast<int64_t>(std::llround(spec->gpu_memory_utilization * kPpm));
  const int64_t pages =
      NumGpuBlocks(spec->model, device, spec->tp, spec->dtype, sglang.page_size, ppm);
  if (pages < 1) {
    errors->Add(place, reader->FieldOf("max_total_tokens"),
                "the weights of " + spec->model.name + " on " + std::to_string(spec->tp) + " x " +
                    spec->device.name +
                    " leave no memory for a KV pool; raise tp or scheduler.mem_fraction_static");
    return;
  }
  const int64_t most_pages = kMaxInt32 / sglang.page_size;
  sglang.max_total_tokens = static_cast<int32_t>(std::min(pages, most_pages) * sglang.page_size);
}

void ResolveRunning(MapReader* reader, ExperimentSpec* spec) {
  SglangConfig& sglang = spec->scheduler.sglang;
  const int64_t most = sglang.max_total_tokens / 2;
  if (sglang.max_running_requests > most) {
    reader->Error("max_running_requests", "is more than half of max_total_tokens, " +
                                              std::to_string(sglang.max_total_tokens) +
                                              ", to which the server cuts it; write " +
                                              std::to_string(most));
  }
  if (sglang.max_running_requests > 0) return;
  const double contexts = static_cast<double>(sglang.max_total_tokens) /
                          static_cast<double>(spec->scheduler.max_model_len);
  const auto by_pool = static_cast<int64_t>(contexts * static_cast<double>(kRunningPerContext));
  const int64_t running = std::min(std::clamp(by_pool, kLeastRunning, kMostRunning), most);
  sglang.max_running_requests = static_cast<int32_t>(std::max<int64_t>(running, 1));
}

}  // namespace

void ReadSglangKeys(MapReader* reader, ExperimentSpec* spec) {
  SglangConfig& sglang = spec->scheduler.sglang;
  spec->scheduler.max_model_len = spec->model.max_positions;
  if (reader->IsWord("context_length", "auto")) {
    reader->Child("context_length");
  } else {
    reader->Integer("context_length", kShortestContext, spec->model.max_positions,
                    &spec->scheduler.max_model_len);
  }
  reader->Integer("page_size", 1, kMaxTokens, &sglang.page_size);
  sglang.chunked_prefill_size = ChunkByMemory(spec->device);
  if (reader->IsWord("chunked_prefill_size", "auto")) {
    reader->Child("chunked_prefill_size");
  } else {
    reader->Integer("chunked_prefill_size", -1, kMaxTokens, &sglang.chunked_prefill_size);
  }
  reader->Integer("max_prefill_tokens", 1, kMaxTokens, &sglang.max_prefill_tokens);
  reader->Integer("prefill_max_requests", 0, kMaxTokens, &sglang.prefill_max_requests);
  for (const char* key : {"max_total_tokens", "max_running_requests", "mem_fraction_static"}) {
    if (!reader->Has(key) || reader->IsWord(key, "auto")) reader->Child(key);
  }
  if (!reader->IsWord("max_total_tokens", "auto")) {
    reader->Integer("max_total_tokens", 1, kMaxInt32, &sglang.max_total_tokens);
  }
  if (!reader->IsWord("max_running_requests", "auto")) {
    reader->Integer("max_running_requests", 1, kMaxTokens, &sglang.max_running_requests);
  }
  spec->gpu_memory_utilization = 0;  // resolved below
  if (!reader->IsWord("mem_fraction_static", "auto")) {
    reader->Number("mem_fraction_static", {.min = 0, .min_open = true, .max = 1},
                   &spec->gpu_memory_utilization);
  }
  reader->Enum("schedule_policy", kSchedulePolicyNames, &sglang.schedule_policy);
  reader->Bool("enable_mixed_chunk", &sglang.enable_mixed_chunk);
  reader->Bool("disable_radix_cache", &sglang.disable_radix_cache);
  reader->Number("schedule_conservativeness", NumberRange::Above(0),
                 &sglang.schedule_conservativeness);
  reader->Bool("disable_overlap_schedule", &sglang.disable_overlap_schedule);
  reader->Bool("ignore_eos", &sglang.ignore_eos);
  reader->Bool("enable_deterministic_inference", &sglang.enable_deterministic_inference);
  if (!sglang.enable_deterministic_inference) {
    reader->Refuse({"attention_backend", "flashinfer_prefill_split_tile_size"},
                   "'enable_deterministic_inference: false'");
    return;
  }
  reader->Enum("attention_backend", kSglangBackendNames, &sglang.attention_backend);
  if (sglang.attention_backend != SglangBackend::kFlashinfer) {
    reader->Refuse({"flashinfer_prefill_split_tile_size"},
                   "'attention_backend: " +
                       std::string(NameIn(kSglangBackendNames, sglang.attention_backend)) + "'");
    return;
  }
  reader->Integer("flashinfer_prefill_split_tile_size", 1, kMaxTokens,
                  &sglang.flashinfer_prefill_split_tile_size);
}

void ResolveSglang(const SourceMark& place, MapReader* reader, FirstError* errors,
                   ExperimentSpec* spec) {
  CheckKeys(*spec, reader);
  if (!errors->ok()) return;
  if (spec->gpu_memory_utilization == 0) spec->gpu_memory_utilization = MemFraction(*spec);
  ResolvePool(place, reader, errors, spec);
  if (!errors->ok()) return;
  ResolveRunning(reader, spec);
  if (PromptLimit(spec->scheduler) < 2) {
    reader->Error("max_total_tokens",
                  std::to_string(spec->scheduler.sglang.max_total_tokens) +
                      " tokens hold no request: the engine keeps some for itself");
  }
}

void WriteSglangKeys(const ExperimentSpec& spec, YamlWriter* out) {
  const SglangConfig& sglang = spec.scheduler.sglang;
  out->Integer("context_length", spec.scheduler.max_model_len);
  out->Integer("page_size", sglang.page_size);
  out->Integer("max_total_tokens", sglang.max_total_tokens);
  out->Number("mem_fraction_static", spec.gpu_memory_utilization);
  out->Integer("chunked_prefill_size", sglang.chunked_prefill_size);
  out->Integer("max_prefill_tokens", sglang.max_prefill_tokens);
  out->Integer("prefill_max_requests", sglang.prefill_max_requests);
  out->Integer("max_running_requests", sglang.max_running_requests);
  out->Word("schedule_policy", NameIn(kSchedulePolicyNames, sglang.schedule_policy));
  out->Bool("enable_mixed_chunk", sglang.enable_mixed_chunk);
  out->Bool("disable_radix_cache", sglang.disable_radix_cache);
  out->Number("schedule_conservativeness", sglang.schedule_conservativeness);
  out->Bool("disable_overlap_schedule", sglang.disable_overlap_schedule);
  out->Bool("enable_deterministic_inference", sglang.enable_deterministic_inference);
  if (sglang.enable_deterministic_inference) {
    out->Word("attention_backend", NameIn(kSglangBackendNames, sglang.attention_backend));
    if (sglang.TruncationAlignSize() > 0) {
      out->Integer("flashinfer_prefill_split_tile_size", sglang.flashinfer_prefill_split_tile_size);
    }
  }
  out->Bool("ignore_eos", sglang.ignore_eos);
}

}  // namespace batchvar
