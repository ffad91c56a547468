#include "sim/config/gemm_policy_keys.h"

#include <algorithm>
#include <memory>

#include "sim/plan/policy_words.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxKey = 1 << 24;
// Each answer is a buffer of its own; nobody needs more to choose from.
constexpr int32_t kMaxNvCandidates = 64;

constexpr GemmPolicyKind kKinds[] = {
    GemmPolicyKind::kTextbook, GemmPolicyKind::kBatchInvariant, GemmPolicyKind::kCutlassSplitK,
    GemmPolicyKind::kStreamK,  GemmPolicyKind::kDeepGemm,       GemmPolicyKind::kGemv,
    GemmPolicyKind::kTable,    GemmPolicyKind::kNvHeuristics};

// Calls `visit` with every key that spec->kind uses, in the order in which they are printed. One
// list for reading and printing, so that neither can forget a key of the other.
template <typename Spec, typename Visitor>
void VisitKeys(Spec* spec, Visitor&& visit) {
  // 0 is the policy's own default; textbook's are spelled out.
  const int64_t least = spec->kind == GemmPolicyKind::kTextbook ? 1 : 0;
  const auto tiles = [&] {
    visit.Integer("tile_m", least, &spec->tile_m);
    visit.Integer("tile_n", least, &spec->tile_n);
    visit.Integer("tile_k", least, &spec->tile_k);
  };
  switch (spec->kind) {
    case GemmPolicyKind::kTextbook:
      tiles();
      visit.Integer("k_min", 1, &spec->k_min);
      visit.Integer("max_split", 1, &spec->max_split);
      return;
    case GemmPolicyKind::kCutlassSplitK:
      tiles();
      visit.Integer("split_k", 0, &spec->split_k);
      visit.Word("mode", kSplitKModeNames, &spec->split_k_mode);
      visit.Integer("k_min", 1, &spec->k_min);
      visit.Integer("max_split", 1, &spec->max_split);
      return;
    case GemmPolicyKind::kStreamK:
      tiles();
      visit.Integer("generation", 2, &spec->generation);
      visit.Word("mode", kStreamKModeNames, &spec->stream_k_mode);
      visit.Integer("splits", 1, &spec->splits);
      visit.Integer("cluster_m", 1, &spec->cluster_m);
      visit.Integer("cluster_n", 1, &spec->cluster_n);
      visit.Integer("max_swizzle", 1, &spec->max_swizzle);
      visit.Integer("occupancy", 1, &spec->occupancy);
      return;
    case GemmPolicyKind::kDeepGemm: visit.Word("arch", kDeepGemmArchNames, &spec->arch); return;
    case GemmPolicyKind::kGemv:
      visit.Integer("m_max", 1, &spec->m_max);
      visit.Integer("lanes", 1, &spec->lanes);
      visit.Integer("vector_width", 1, &spec->vector_width);
      return;
    case GemmPolicyKind::kTable:
      visit.Text("path", &spec->table_path);
      visit.Text("gpu", &spec->gpu);
      visit.Word("layout", kTableLayoutNames, &spec->layout);
      visit.Bool("slice_k", &spec->slice_k);
      return;
    case GemmPolicyKind::kNvHeuristics:
      visit.Text("library", &spec->library);
      visit.Text("gpu", &spec->gpu);
      visit.Word("backend", kNvBackendNames, &spec->backend);
      visit.Word("layout", kTableLayoutNames, &spec->layout);
      visit.Bool("auto_tune", &spec->auto_tune);
      visit.Integer("candidates", 1, &spec->candidates);
      return;
    case GemmPolicyKind::kBatchInvariant:
      tiles();
      visit.Word("variant", kInvariantVariantNames, &spec->variant);
      visit.Text("path", &spec->table_path);
      return;
  }
}

struct KeyReader {
  MapReader* reader;
  std::vector<std::string> used;

  void Integer(const char* key, int64_t min, int32_t* value) {
    used.push_back(key);
    reader->Integer(key, min, kMaxKey, value);
  }
  template <typename T>
  void Word(const char* key, EnumNames<T> names, T* value) {
    used.push_back(key);
    reader->Enum(key, names, value);
  }
  void Text(const char* key, std::string* value) {
    used.push_back(key);
    reader->Text(key, value);
  }
  void Bool(const char* key, bool* value) {
    used.push_back(key);
    reader->Bool(key, value);
  }
};

struct KeyWriter {
  YamlWriter* out;

  void Integer(const char* key, int64_t, const int32_t* value) { out->Integer(key, *value); }
  template <typename T>
  void Word(const char* key, EnumNames<T> names, const T* value) {
    out->Word(key, NameIn(names, *value));
  }
  void Text(const char* key, const std::string* value) { out->Text(key, *value); }
  void Bool(const char* key, const bool* value) { out->Bool(key, *value); }
};

// Every key that some policy uses but this one does not.
void RefuseOthers(const std::vector<std::string>& used, GemmPolicyKind kind, MapReader* reader) {
  for (const char* key :
       {"tile_m",     "tile_n",  "tile_k",       "k_min",     "max_split",   "split_k",   "mode",
        "generation", "splits",  "cluster_m",    "cluster_n", "max_swizzle", "occupancy", "arch",
        "m_max",      "lanes",   "vector_width", "then",      "path",        "gpu",       "layout",
        "slice_k",    "variant", "library",      "backend",   "auto_tune",   "candidates"}) {
    if (std::find(used.begin(), used.end(), key) == used.end()) {
      reader->Refuse({key}, std::string("policy '") + PolicyName(kind) + "'");
    }
  }
}

bool IsPowerOfTwo(int32_t value) { return value > 0 && (value & (value - 1)) == 0; }

void CheckValues(const GemmPolicySpec& spec, MapReader* reader) {
  if (spec.kind == GemmPolicyKind::kStreamK) {
    if (spec.generation > 3) reader->Error("generation", "must be 2 or 3");
    if (spec.generation == 2 && spec.stream_k_mode == StreamKMode::kStreamK) {
      reader->Error("mode", "generation 2 cannot be forced to stream-K; write heuristic");
    }
    for (const auto& [key, value] :
         {std::pair("cluster_m", spec.cluster_m), std::pair("cluster_n", spec.cluster_n),
          std::pair("max_swizzle", spec.max_swizzle)}) {
      if (!IsPowerOfTwo(value) || value > 8) reader->Error(key, "must be 1, 2, 4 or 8");
    }
  }
  if (spec.kind == GemmPolicyKind::kGemv &&
      (!IsPowerOfTwo(spec.lanes) || spec.lanes < 2 || spec.lanes > 1024)) {
    reader->Error("lanes", "must be a power of two from 2 to 1024");
  }
  if (spec.kind == GemmPolicyKind::kTable && spec.table_path.empty()) reader->Require({"path"});
  if (spec.kind == GemmPolicyKind::kNvHeuristics) {
    if (spec.library.empty()) reader->Require({"library"});
    if (spec.candidates > kMaxNvCandidates) {
      reader->Error("candidates", "must be at most " + std::to_string(kMaxNvCandidates));
    }
  }
}

}  // namespace

GemmPolicySpec ReadGemmPolicy(const ConfigNode& node, const std::string& path, FirstError* errors) {
  MapReader reader(node, path, errors);
  std::vector<std::string> names;
  for (const GemmPolicyKind kind : kKinds) names.emplace_back(PolicyName(kind));
  const int found = reader.Word("name", names);
  GemmPolicySpec spec = DefaultGemmPolicy(found < 0 ? GemmPolicyKind::kTextbook : kKinds[found]);
  KeyReader keys{&reader, {}};
  VisitKeys(&spec, keys);
  if (spec.kind == GemmPolicyKind::kNvHeuristics && !reader.Has("layout")) {
    spec.layout = UsualLayout(spec.backend);
  }
  if (spec.kind == GemmPolicyKind::kGemv) {
    keys.used.push_back("then");
    const ConfigNode* then = reader.Child("then");
    if (then != nullptr) {
      const ConfigNode map = then->IsScalar() ? ConfigNode::MapWithName(*then) : *then;
      spec.then =
          std::make_shared<const GemmPolicySpec>(ReadGemmPolicy(map, path + ".then", errors));
      if (spec.then->kind == GemmPolicyKind::kGemv) {
        reader.Error("then", "cannot be another gemv");
      }
    }
  }
  RefuseOthers(keys.used, spec.kind, &reader);
  CheckValues(spec, &reader);
  reader.Finish();
  return spec;
}

void WriteGemmPolicy(std::string_view key, const GemmPolicySpec& spec, YamlWriter* out) {
  out->Open(key);
  out->Word("name", PolicyName(spec.kind));
  KeyWriter keys{out};
  VisitKeys(&spec, keys);
  if (spec.then != nullptr) WriteGemmPolicy("then", *spec.then, out);
  out->Close();
}

}  // namespace batchvar
