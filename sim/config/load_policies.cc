// `policies:` -> PolicySpec. Each kind of op takes a policy's bare name or {name: ..., parameters}.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/gemm_policy_keys.h"
#include "sim/config/spec_names.h"
#include "sim/config/spec_parts.h"
#include "sim/config/yaml_writer.h"

namespace batchvar {
namespace {

// What NCCL moves at a time; a chunk holds whole packs.
constexpr int64_t kPackBytes = 16;

constexpr EnumNames<AllReducePolicyKind> kFallbackNames = {
    {"ring", AllReducePolicyKind::kRing},
    {"tree", AllReducePolicyKind::kTree},
    {"exact", AllReducePolicyKind::kExact},
};

// Reads `name`, one of the policies that this version has; absent, *kind stays.
template <typename Kind>
void ReadKind(const std::vector<Kind>& kinds, MapReader* reader, Kind* kind) {
  std::vector<std::string> names;
  for (const Kind candidate : kinds) names.emplace_back(PolicyName(candidate));
  const int found = reader->Word("name", names);
  if (found >= 0) *kind = kinds[static_cast<size_t>(found)];
}

// The node of one kind of op as a map; an empty one when it is absent.
ConfigNode PolicyNode(const char* key, MapReader* policies, const ConfigNode& parent) {
  const ConfigNode* node = policies->Child(key);
  if (node == nullptr) return ConfigNode::EmptyMap(parent.mark);
  return node->IsScalar() ? ConfigNode::MapWithName(*node) : *node;
}

std::string Quoted(const char* name) { return "policy '" + std::string(name) + "'"; }

// One list for reading and printing: every key that an attention policy may have.
template <typename Spec, typename Visitor>
void VisitAttentionKeys(Spec* spec, Visitor&& visit) {
  visit.Integer("tile_q", 1, &spec->tile_q);
  visit.Integer("tile_kv", 1, &spec->tile_kv);
  visit.Integer("max_split", 1, &spec->max_split);
  visit.Integer("split_size", 1, &spec->split_size);
  visit.Bool("prefix_apart", &spec->prefix_apart);
  visit.Integer("num_splits", 0, &spec->num_splits);
  visit.Bool("varlen", &spec->varlen);
  visit.Integer("page_size", spec->kind == AttentionPolicyKind::kFa3 ? 0 : 1, &spec->page_size);
  visit.Bool("cuda_graph", &spec->cuda_graph);
  visit.Bool("tensor_cores", &spec->tensor_cores);
  visit.Integer("blocks_per_sm", 1, &spec->blocks_per_sm);
  visit.Integer("fixed_split_size", 0, &spec->fixed_split_size);
  visit.Integer("prefill_fixed_split_size", 0, &spec->prefill_fixed_split_size);
  visit.Bool("disable_split_kv", &spec->disable_split_kv);
  visit.Integer("segments", 0, &spec->segments);
  visit.Integer("max_kv_splits", 1, &spec->max_kv_splits);
  visit.Bool("static_kv_splits", &spec->static_kv_splits);
  visit.Integer("split_tile_size", 0, &spec->split_tile_size);
}

bool Uses(AttentionPolicyKind kind, const std::string& key) {
  const std::vector<std::string>& keys = AttentionPolicyKeys(kind);
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

struct AttentionReader {
  MapReader* reader;
  AttentionPolicyKind kind;

  void Integer(const char* key, int64_t min, int32_t* value) {
    if (Refused(key)) return;
    reader->Integer(key, min, kMaxTokens, value);
  }
  void Bool(const char* key, bool* value) {
    if (Refused(key)) return;
    reader->Bool(key, value);
  }
  bool Refused(const char* key) {
    if (Uses(kind, key)) return false;
    reader->Refuse({key}, Quoted(PolicyName(kind)));
    return true;
  }
};

struct AttentionWriter {
  YamlWriter* out;
  AttentionPolicyKind kind;

  void Integer(const char* key, int64_t, const int32_t* value) {
    if (Uses(kind, key)) out->Integer(key, *value);
  }
  void Bool(const char* key, const bool* value) {
    if (Uses(kind, key)) out->Bool(key, *value);
  }
};

AttentionPolicySpec ReadAttention(const ConfigNode& node, FirstError* errors) {
  MapReader reader(node, "policies.attention", errors);
  AttentionPolicySpec attention;
  ReadKind(AllAttentionPolicies(), &reader, &attention.kind);
  VisitAttentionKeys(&attention, AttentionReader{&reader, attention.kind});
  reader.Finish();
  return attention;
}

NormPolicySpec ReadNorm(const ConfigNode& node, FirstError* errors) {
  MapReader reader(node, "policies.norm", errors);
  NormPolicySpec norm;
  ReadKind(std::vector<NormPolicyKind>{NormPolicyKind::kNormInvariant, NormPolicyKind::kNormVllm},
           &reader, &norm.kind);
  reader.Finish();
  return norm;
}

// Selectors that leave some messages to NCCL.
bool HasFallback(AllReducePolicyKind kind) {
  return kind == AllReducePolicyKind::kVllm || kind == AllReducePolicyKind::kSglang;
}

bool UsesRing(const AllReducePolicySpec& spec) {
  return spec.kind == AllReducePolicyKind::kRing ||
         (HasFallback(spec.kind) && spec.fallback == AllReducePolicyKind::kRing);
}

AllReducePolicySpec ReadAllReduce(const ConfigNode& node, FirstError* errors) {
  MapReader reader(node, "policies.allreduce", errors);
  AllReducePolicySpec allreduce;
  ReadKind(AllAllReducePolicies(), &reader, &allreduce.kind);
  const std::string user = Quoted(PolicyName(allreduce.kind));
  if (HasFallback(allreduce.kind)) {
    reader.Bool("nvlink_mesh", &allreduce.nvlink_mesh);
    reader.Bool("nccl_symm_mem", &allreduce.nccl_symm_mem);
    reader.Enum("fallback", kFallbackNames, &allreduce.fallback);
  } else {
    reader.Refuse({"nvlink_mesh", "nccl_symm_mem", "fallback"}, user);
  }
  if (UsesRing(allreduce)) {
    reader.Integer("channels", 1, kMaxTokens, &allreduce.channels);
    reader.Integer("chunk_bytes", kPackBytes, kMaxTokens, &allreduce.chunk_bytes);
  } else {
    reader.Refuse({"channels", "chunk_bytes"}, user);
  }
  if (allreduce.kind == AllReducePolicyKind::kOneShotUpTo) {
    reader.Integer("max_bytes", 1, kMaxTokens, &allreduce.max_bytes);
  } else {
    reader.Refuse({"max_bytes"}, user);
  }
  reader.Finish();
  return allreduce;
}

MoePolicySpec ReadMoe(const ConfigNode& node, FirstError* errors) {
  MapReader reader(node, "policies.moe", errors);
  MoePolicySpec moe;
  ReadKind(std::vector<MoePolicyKind>{MoePolicyKind::kMoeVllm}, &reader, &moe.kind);
  reader.Finish();
  return moe;
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
  policies.moe = ReadMoe(PolicyNode("moe", &reader, node), errors);
  reader.Finish();
  return policies;
}

void WritePolicies(const PolicySpec& policies, YamlWriter* out) {
  out->Open("policies");
  out->Text("name", policies.name);
  WriteGemmPolicy("gemm", policies.gemm, out);
  out->Open("attention");
  out->Word("name", PolicyName(policies.attention.kind));
  VisitAttentionKeys(&policies.attention, AttentionWriter{out, policies.attention.kind});
  out->Close();
  out->Word("norm", PolicyName(policies.norm.kind));
  const AllReducePolicySpec& allreduce = policies.allreduce;
  out->Open("allreduce");
  out->Word("name", PolicyName(allreduce.kind));
  if (HasFallback(allreduce.kind)) {
    out->Bool("nvlink_mesh", allreduce.nvlink_mesh);
    out->Bool("nccl_symm_mem", allreduce.nccl_symm_mem);
    out->Word("fallback", NameIn(kFallbackNames, allreduce.fallback));
  }
  if (UsesRing(allreduce)) {
    out->Integer("channels", allreduce.channels);
    out->Integer("chunk_bytes", allreduce.chunk_bytes);
  }
  if (allreduce.kind == AllReducePolicyKind::kOneShotUpTo) {
    out->Integer("max_bytes", allreduce.max_bytes);
  }
  out->Close();
  out->Word("moe", PolicyName(policies.moe.kind));
  out->Close();
}

}  // namespace batchvar
