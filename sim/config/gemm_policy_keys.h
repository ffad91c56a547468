// `policies.gemm` <-> GemmPolicySpec. Each policy uses its own keys; a key of another policy is
// refused by name, so that it is never silently without effect. Internal to this room.
#ifndef BATCHVAR_SIM_CONFIG_GEMM_POLICY_KEYS_H_
#define BATCHVAR_SIM_CONFIG_GEMM_POLICY_KEYS_H_

#include <string>
#include <string_view>

#include "sim/config/config_reader.h"
#include "sim/config/yaml_writer.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

// `node` is a map; `path` its dotted path for messages.
GemmPolicySpec ReadGemmPolicy(const ConfigNode& node, const std::string& path, FirstError* errors);
// Every key that the policy uses, so that it reads back as an equal spec.
void WriteGemmPolicy(std::string_view key, const GemmPolicySpec& spec, YamlWriter* out);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_GEMM_POLICY_KEYS_H_
