// `policies:` -> PolicySpec. Each kind of op takes a policy's bare name or {name: ..., parameters}.
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/config/gemm_policy_keys.h"
#include "sim/config/spec_parts.h"

namespace batchvar {
namespace {

// Reads `name`, one of the policies that this version has; absent, *kind stays.
template <typename Kind>
void ReadKind(std::initializer_list<Kind> kinds, MapReader* reader, Kind* kind) {
  std::vector<std::string> names;
  for (const Kind candidate : kinds) names.emplace_back(PolicyName(candidate));
  const int found = reader->Word("name", names);
  if (found >= 0) *kind = kinds.begin()[found];
}

// The node of one kind of op as a map; an empty one when it is absent.
ConfigNode PolicyNode(const char* key, MapReader* policies, const ConfigNode& parent) {
  const ConfigNode* node = policies->Child(key);
  if (node == nullptr) return ConfigNode::EmptyMap(parent.mark);
  return node->IsScalar() ? ConfigNode::MapWithName(*node) : *node;
}

std::string Quoted(const char* name) { return "policy '" + std::string(name) + "'"; }

AttentionPolicySpec ReadAttention(const ConfigNode& node, FirstError* errors) {
  MapReader reader(node, "policies.attention", errors);
  AttentionPolicySpec attention;
  ReadKind({AttentionPolicyKind::kTextbook, AttentionPolicyKind::kBatchInvariant}, &reader,
           &attention.kind);
  reader.Integer("tile_q", 1, kMaxTokens, &attention.tile_q);
  reader.Integer("tile_kv", 1, kMaxTokens, &attention.tile_kv);
  if (attention.kind == AttentionPolicyKind::kTextbook) {
    reader.Integer("max_split", 1, kMaxTokens, &attention.max_split);
    reader.Refuse({"split_size"}, Quoted(PolicyName(attention.kind)));
  } else {
    reader.Integer("split_size", 1, kMaxTokens, &attention.split_size);
    reader.Refuse({"max_split"}, Quoted(PolicyName(attention.kind)));
  }
  reader.Finish();
  return attention;
}

NormPolicySpec ReadNorm(const ConfigNode& node, FirstError* errors) {
  MapReader reader(node, "policies.norm", errors);
  NormPolicySpec norm;
  ReadKind({NormPolicyKind::kNormInvariant, NormPolicyKind::kNormVllm}, &reader, &norm.kind);
  reader.Finish();
  return norm;
}

AllReducePolicySpec ReadAllReduce(const ConfigNode& node, FirstError* errors) {
  MapReader reader(node, "policies.allreduce", errors);
  AllReducePolicySpec allreduce;
  ReadKind({AllReducePolicyKind::kOneShot}, &reader, &allreduce.kind);
  reader.Finish();
  return allreduce;
}

}  // namespace

PolicySpec ReadPolicies(const ConfigNode& node, FirstError* errors) {
  PolicySpec policies;
  policies.name = "inline";
  MapReader reader(node, "policies", errors);
  reader.Text("name", &policies.name);
  policies.gemm = ReadGemmPolicy(PolicyNode("gemm", &reader, node), "policies.gemm", errors);
  policies.attention = ReadAttention(PolicyNode("attention", &reader, node), errors);
  policies.norm = ReadNorm(PolicyNode("norm", &reader, node), errors);
  policies.allreduce = ReadAllReduce(PolicyNode("allreduce", &reader, node), errors);
  if (reader.Child("moe") != nullptr) {
    reader.Error("moe", "there is no choice of MoE policy in this version; remove it");
  }
  reader.Finish();
  return policies;
}

}  // namespace batchvar
