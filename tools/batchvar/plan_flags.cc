#include "tools/batchvar/plan_flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/config/load_experiment.h"
#include "sim/io/gemm_table.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxHeads = 65536;

}  // namespace

void AddTargetFlags(CLI::App* verb, DeviceFlag device, TargetFlags* flags) {
  verb->add_option("--device", flags->device, "Device: a name in configs/devices or a file")
      ->required(device == DeviceFlag::kRequired);
  verb->add_option("--policy", flags->policy,
                   "Decomposition policy, or a map such as {name: stream_k, generation: 2}: "
                   "docs/policies.md")
      ->capture_default_str();
  verb->add_option("--dtype", flags->dtype, "bf16 or fp16")->capture_default_str();
  verb->add_option("--sm-count", flags->sm_count, "Plan for this many SMs instead of the device's");
  verb->add_flag("--json", flags->json, "Print one JSON object");
}

void AddGemmFlags(CLI::App* verb, GemmFlags* flags) {
  verb->add_option("--n", flags->n, "Output features")->required();
  verb->add_option("--k", flags->k, "Summed features")->required();
  verb->add_option("--tile-m", flags->tile_m, "Tile rows; default: the policy's own");
  verb->add_option("--tile-n", flags->tile_n, "Tile columns; default: the policy's own");
  verb->add_option("--tile-k", flags->tile_k, "K of one step of a tile; default: the policy's own");
  verb->add_option("--max-split", flags->max_split, "textbook: most pieces of K (32)");
  verb->add_option("--k-min", flags->k_min, "textbook: shortest piece of K on average (256)");
}

void AddAttentionFlags(CLI::App* verb, AttentionFlags* flags) {
  verb->add_option("--kv-len", flags->kv_lens, "KV positions each request reads, its own included")
      ->delimiter(',')
      ->required();
  verb->add_option("--q-len", flags->q_lens, "Query tokens, one for all or one a request (1)")
      ->delimiter(',');
  verb->add_option("--q-heads", flags->q_heads, "Query heads on this rank")->required();
  verb->add_option("--kv-heads", flags->kv_heads, "KV heads on this rank")->required();
  verb->add_option("--head-dim", flags->head_dim, "Elements of a head")->required();
  verb->add_option("--num-splits", flags->num_splits,
                   "fa2, fa3, cascade: this many splits instead of the heuristic's");
  verb->add_option("--page-size", flags->page_size,
                   "fa3, flashinfer, paged_v1_v2, cascade: KV positions of a page (16)");
  verb->add_option("--split-size", flags->split_size,
                   "batch_invariant: KV positions of a split (2048)");
  verb->add_option("--fixed-split-size", flags->fixed_split_size,
                   "flashinfer: KV positions of a decode's chunk; default: searched for");
  verb->add_option("--shared-prefix", flags->shared_prefix,
                   "cascade: leading KV positions that all requests share");
  verb->add_flag("--cuda-graph", flags->cuda_graph,
                 "flashinfer, vllm_triton: the step runs from a captured graph");
}

absl::StatusOr<DeviceSpec> DeviceOf(const TargetFlags& flags) {
  return DeviceNamed(flags.device, flags.sm_count);
}

absl::StatusOr<GemmPolicySpec> GemmSpecOf(const GemmFlags& flags) {
  std::vector<std::pair<std::string, std::string>> keys;
  const auto add = [&](const char* key, const std::optional<int64_t>& given) {
    if (given.has_value()) keys.emplace_back(key, std::to_string(*given));
  };
  add("tile_m", flags.tile_m);
  add("tile_n", flags.tile_n);
  add("tile_k", flags.tile_k);
  add("max_split", flags.max_split);
  add("k_min", flags.k_min);
  absl::StatusOr<GemmPolicySpec> spec = LoadGemmPolicy(flags.target.policy, keys, "--policy");
  if (!spec.ok()) return spec.status();
  if (absl::Status tables = LoadGemmTables(&*spec); !tables.ok()) return tables;
  return spec;
}

absl::StatusOr<AttentionHeads> HeadsOf(const AttentionFlags& flags) {
  for (const auto& [flag, value] :
       {std::pair("--q-heads", flags.q_heads), std::pair("--kv-heads", flags.kv_heads),
        std::pair("--head-dim", flags.head_dim)}) {
    if (absl::Status status = InRange(flag, value, kMaxHeads); !status.ok()) return status;
  }
  if (flags.q_heads % flags.kv_heads != 0) {
    return FlagError("--kv-heads",
                     absl::StrCat(flags.kv_heads, " does not divide --q-heads ", flags.q_heads));
  }
  const auto dtype = DTypeNamed(flags.target.dtype);
  if (!dtype.ok()) return dtype.status();
  return AttentionHeads{static_cast<int32_t>(flags.q_heads), static_cast<int32_t>(flags.kv_heads),
                        static_cast<int32_t>(flags.head_dim), *dtype};
}

absl::StatusOr<std::vector<AttentionRequest>> StepOf(const AttentionFlags& flags) {
  if (flags.q_lens.size() != 1 && flags.q_lens.size() != flags.kv_lens.size()) {
    return FlagError("--q-len", absl::StrCat("give one value or as many as --kv-len (",
                                             flags.kv_lens.size(), "), not ", flags.q_lens.size()));
  }
  std::vector<AttentionRequest> step;
  for (size_t i = 0; i < flags.kv_lens.size(); ++i) {
    const int64_t q_len = flags.q_lens[flags.q_lens.size() == 1 ? 0 : i];
    if (absl::Status status = InRange("--kv-len", flags.kv_lens[i]); !status.ok()) return status;
    if (absl::Status status = InRange("--q-len", q_len); !status.ok()) return status;
    if (q_len > flags.kv_lens[i]) {
      return FlagError("--q-len",
                       absl::StrCat(q_len, " is more than its --kv-len ", flags.kv_lens[i],
                                    ", which counts the step's own tokens"));
    }
    step.push_back({q_len, flags.kv_lens[i], flags.shared_prefix});
  }
  return step;
}

absl::StatusOr<AttentionPolicySpec> AttentionSpecOf(const AttentionFlags& flags) {
  const auto kind = PolicyNamed(flags.target.policy, AllAttentionPolicies());
  if (!kind.ok()) return kind.status();
  AttentionPolicySpec spec;
  spec.kind = *kind;
  const auto check_used = [&spec](const char* flag, const std::string& key) {
    const std::vector<std::string>& keys = AttentionPolicyKeys(spec.kind);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return absl::OkStatus();
    return FlagError(flag, absl::StrCat("policy ", PolicyName(spec.kind), " does not use it"));
  };
  struct Key {
    const char* flag;
    const char* name;
    const std::optional<int64_t>& given;
    int32_t* key;
  };
  for (const Key& key : {Key{"--num-splits", "num_splits", flags.num_splits, &spec.num_splits},
                         Key{"--page-size", "page_size", flags.page_size, &spec.page_size},
                         Key{"--split-size", "split_size", flags.split_size, &spec.split_size},
                         Key{"--fixed-split-size", "fixed_split_size", flags.fixed_split_size,
                             &spec.fixed_split_size}}) {
    if (!key.given.has_value()) continue;
    if (absl::Status status = check_used(key.flag, key.name); !status.ok()) return status;
    if (absl::Status status = InRange(key.flag, *key.given); !status.ok()) return status;
    *key.key = static_cast<int32_t>(*key.given);
  }
  if (flags.cuda_graph) {
    if (absl::Status status = check_used("--cuda-graph", "cuda_graph"); !status.ok()) return status;
    spec.cuda_graph = true;
  }
  if (flags.shared_prefix != 0) {
    if (spec.kind != AttentionPolicyKind::kCascade) {
      return FlagError("--shared-prefix",
                       absl::StrCat("policy ", PolicyName(spec.kind), " does not use it"));
    }
    if (absl::Status status = InRange("--shared-prefix", flags.shared_prefix); !status.ok()) {
      return status;
    }
  }
  return spec;
}

}  // namespace batchvar
