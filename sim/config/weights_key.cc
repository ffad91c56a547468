#include "sim/config/weights_key.h"

#include "sim/config/config_files.h"
#include "sim/config/spec_parts.h"

namespace batchvar {
namespace {

constexpr char kSynthetic[] = "synthetic";

SyntheticSpec ReadSynthetic(const ConfigNode& node, const std::string& path, FirstError* errors) {
  SyntheticSpec spec;
  MapReader reader(node, path, errors);
  reader.Unsigned("seed", &spec.seed);
  if (reader.Has("alpha")) {
    double alpha = 0;
    reader.Number("alpha", NumberRange::AtLeast(0), &alpha);
    spec.alpha = alpha;
  }
  reader.Number("beta", NumberRange::Above(0), &spec.beta);
  reader.Finish();
  return spec;
}

}  // namespace

void ReadWeights(MapReader* reader, FirstError* errors, std::string* name,
                 std::optional<SyntheticModel>* synthetic) {
  const ConfigNode* node = reader->Child("weights");
  if (node == nullptr) return;
  if (!node->IsMap()) {
    reader->Text("weights", name);
    if (*name == kSynthetic) {
      name->clear();
      synthetic->emplace();
    }
    return;
  }
  const std::string path = reader->FieldOf("weights");
  MapReader map(*node, path, errors);
  map.Require({kSynthetic});
  const ConfigNode* spec = map.Child(kSynthetic);
  map.Finish();
  if (spec == nullptr) return;
  synthetic->emplace();
  (*synthetic)->spec = ReadSynthetic(*spec, path + "." + kSynthetic, errors);
}

absl::StatusOr<ModelSpec> ReadExecutedModel(const ConfigNode* node, const SourceMark& place,
                                            const std::string& folder) {
  if (node == nullptr) {
    return ConfigError(place.At("model"), "is missing: synthetic weights are made for a model");
  }
  ConfigNode model = *node;
  const absl::Status status = InlineReference(*FindReferencePart("model"), folder, &model);
  if (!status.ok()) return status;
  FirstError errors;
  ModelSpec spec = ReadModel(model, &errors);
  if (!errors.ok()) return errors.status();
  return spec;
}

}  // namespace batchvar
