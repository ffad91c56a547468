// The flags that say which op is planned how: shared by `plan` and `reveal`, so that both read them
// alike. Checked values come out as the specs that sim/plan takes; errors name the flag.
#ifndef BATCHVAR_TOOLS_BATCHVAR_PLAN_FLAGS_H_
#define BATCHVAR_TOOLS_BATCHVAR_PLAN_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/plan/attention_policy.h"
#include "sim/plan/device_spec.h"
#include "sim/plan/policy_spec.h"
#include "tools/batchvar/flag_checks.h"

namespace batchvar {

// A flag's text as typed; kept apart from the specs so that "not given" differs from 0.
struct TargetFlags {
  std::string device;
  std::string policy = "textbook";
  std::string dtype = "bf16";
  std::optional<int64_t> sm_count;
  bool json = false;
};

// M is the verb's own: one number, or several.
struct GemmFlags {
  TargetFlags target;
  int64_t n = 0;
  int64_t k = 0;
  std::optional<int64_t> tile_m, tile_n, tile_k, max_split, k_min;
};

struct AttentionFlags {
  TargetFlags target;
  std::vector<int64_t> kv_lens;
  std::vector<int64_t> q_lens = {1};
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t shared_prefix = 0;
  std::optional<int64_t> num_splits, page_size, split_size, fixed_split_size;
  bool cuda_graph = false;
};

enum class DeviceFlag : uint8_t { kRequired, kOptional };
void AddTargetFlags(CLI::App* verb, DeviceFlag device, TargetFlags* flags);
// All of GemmFlags and AttentionFlags but the target.
void AddGemmFlags(CLI::App* verb, GemmFlags* flags);
void AddAttentionFlags(CLI::App* verb, AttentionFlags* flags);

// `Kind` is the enum of one kind of op.
template <typename Kind>
absl::StatusOr<Kind> PolicyNamed(const std::string& name, const std::vector<Kind>& kinds) {
  std::vector<std::string> known;
  for (const Kind kind : kinds) {
    if (name == PolicyName(kind)) return kind;
    known.emplace_back(PolicyName(kind));
  }
  return UnknownName("--policy", name, known);
}

absl::StatusOr<DeviceSpec> DeviceOf(const TargetFlags& flags);
// With the tables that the policy names.
absl::StatusOr<GemmPolicySpec> GemmSpecOf(const GemmFlags& flags);
absl::StatusOr<AttentionHeads> HeadsOf(const AttentionFlags& flags);
absl::StatusOr<std::vector<AttentionRequest>> StepOf(const AttentionFlags& flags);
absl::StatusOr<AttentionPolicySpec> AttentionSpecOf(const AttentionFlags& flags);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_PLAN_FLAGS_H_
