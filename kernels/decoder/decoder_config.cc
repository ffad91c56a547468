#include "kernels/decoder/decoder_config.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/cpu/row_ops.h"
#include "nlohmann/json.hpp"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using Json = nlohmann::json;

struct Architecture {
  const char* name;
  DecoderFamily family;
};
// More than any model has: an absurd number would ask for that many tensors by name.
constexpr int32_t kMostExperts = 4096;

constexpr Architecture kArchitectures[] = {
    {"LlamaForCausalLM", DecoderFamily::kLlama},
    {"Qwen3ForCausalLM", DecoderFamily::kQwen3},
    {"MixtralForCausalLM", DecoderFamily::kMixtral},
    {"Qwen3MoeForCausalLM", DecoderFamily::kQwen3Moe},
};

// Reads fields and keeps the first error; later reads then do nothing that matters.
class ConfigReader {
 public:
  ConfigReader(std::string file, Json json) : file_(std::move(file)), json_(std::move(json)) {}

  absl::StatusOr<DecoderConfig> Read();

 private:
  void ReadFamily();
  void ReadSizes();
  void ReadMoe();
  void ReadRope();
  void ReadScaling(const Json& rope, const std::string& path);
  void RefuseVariants();

  bool IsMoe() const {
    return config_.family == DecoderFamily::kMixtral || config_.family == DecoderFamily::kQwen3Moe;
  }
  void Fail(const std::string& field, const std::string& message) {
    if (status_.ok()) status_ = InputError({.file = file_, .field = field}, message);
  }
  // Null where the key is absent or null.
  static const Json* Find(const Json& object, const std::string& key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  // A whole number from 1 to 2^31 - 1. `fallback` 0 means that the field must be there.
  int32_t Size(const std::string& key, int32_t fallback = 0);
  // A finite number above 0. `path` is what an error calls the object ("rope_scaling.").
  double Positive(const Json& object, const std::string& path, const std::string& key);
  bool Flag(const std::string& key, bool fallback);
  // What must have one value, or be absent or null.
  void Expect(const std::string& key, const Json& value, const char* why);

  std::string file_;
  Json json_;
  DecoderConfig config_;
  absl::Status status_;
};

int32_t ConfigReader::Size(const std::string& key, int32_t fallback) {
  const Json* value = Find(json_, key);
  if (value == nullptr) {
    if (fallback == 0) Fail(key, "is missing: add the model's number");
    return fallback;
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (!value->is_number_integer() || value->get<int64_t>() < 1 || value->get<int64_t>() > kMost) {
    Fail(key, absl::StrCat("is ", value->dump(), ", not a whole number from 1 on"));
    return 1;
  }
  return value->get<int32_t>();
}

double ConfigReader::Positive(const Json& object, const std::string& path, const std::string& key) {
  const Json* value = Find(object, key);
  if (value == nullptr) {
    Fail(path + key, "is missing: add the model's number");
    return 1.0;
  }
  if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() <= 0) {
    Fail(path + key, absl::StrCat("is ", value->dump(), ", not a number above 0"));
    return 1.0;
  }
  return value->get<double>();
}

bool ConfigReader::Flag(const std::string& key, bool fallback) {
  const Json* value = Find(json_, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    Fail(key, absl::StrCat("is ", value->dump(), ", not true or false"));
    return fallback;
  }
  return value->get<bool>();
}

void ConfigReader::Expect(const std::string& key, const Json& value, const char* why) {
  const Json* found = Find(json_, key);
  if (found == nullptr || *found == value) return;
  Fail(key, absl::StrCat("is ", found->dump(), ", only ", value.dump(), " is computed: ", why));
}

void ConfigReader::ReadFamily() {
  const Json* names = Find(json_, "architectures");
  if (names == nullptr || !names->is_array() || names->size() != 1 || !(*names)[0].is_string()) {
    Fail("architectures", "is not a list of one name");
    return;
  }
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if ((*names)[0] == architecture.name) {
      config_.family = architecture.family;
      return;
    }
    absl::StrAppend(&known, known.empty() ? "" : ", ", architecture.name);
  }
  Fail("architectures", absl::StrCat((*names)[0].dump(), " is not one of ", known));
}

void ConfigReader::ReadSizes() {
  ModelSpec& model = config_.model;
  const bool llama = config_.family == DecoderFamily::kLlama;
  model.name = (*Find(json_, "architectures"))[0].get<std::string>();
  model.layers = Size("num_hidden_layers");
  model.hidden_size = Size("hidden_size");
  model.q_heads = Size("num_attention_heads");
  // Llama's first configurations say nothing of KV heads: every head has its own.
  model.kv_heads = Size("num_key_value_heads", llama ? model.q_heads : 0);
  model.vocab_size = Size("vocab_size");
  model.max_positions = Size("max_position_embeddings");
  if (!status_.ok()) return;
  if (model.q_heads % model.kv_heads != 0) {
    Fail("num_key_value_heads", absl::StrCat("is ", model.kv_heads, ", which does not divide ",
                                             "num_attention_heads ", model.q_heads));
  }
  if (Find(json_, "head_dim") == nullptr && model.hidden_size % model.q_heads != 0) {
    Fail("head_dim", "is missing, and num_attention_heads does not divide hidden_size");
    return;
  }
  model.head_dim = Size("head_dim", model.hidden_size / model.q_heads);
  if (model.head_dim % 2 != 0) Fail("head_dim", "is odd: RoPE turns pairs");
  model.qk_norm =
      config_.family == DecoderFamily::kQwen3 || config_.family == DecoderFamily::kQwen3Moe;
  model.tied_embeddings = Flag("tie_word_embeddings", false);
  config_.rms_norm_eps = Positive(json_, "", "rms_norm_eps");
  if (IsMoe()) {
    ReadMoe();
  } else {
    model.intermediate_size = Size("intermediate_size");
  }
}

void ConfigReader::ReadMoe() {
  ModelSpec& model = config_.model;
  const bool mixtral = config_.family == DecoderFamily::kMixtral;
  model.num_experts = Size(mixtral ? "num_local_experts" : "num_experts");
  model.experts_per_token = Size("num_experts_per_tok");
  model.moe_intermediate_size = Size(mixtral ? "intermediate_size" : "moe_intermediate_size");
  if (model.num_experts > kMostExperts) {
    Fail(mixtral ? "num_local_experts" : "num_experts",
         absl::StrCat("is ", model.num_experts, ", more than ", kMostExperts));
  }
  if (model.experts_per_token > model.num_experts) {
    Fail("num_experts_per_tok", absl::StrCat("is ", model.experts_per_token, ", there are ",
                                             model.num_experts, " experts"));
  }
  config_.norm_topk_prob = mixtral || Flag("norm_topk_prob", false);
  Expect("decoder_sparse_step", 1, "every layer has experts");
  Expect("mlp_only_layers", Json::array(), "every layer has experts");
}

void ConfigReader::ReadScaling(const Json& rope, const std::string& path) {
  const Json* type = Find(rope, "rope_type");
  if (type == nullptr) type = Find(rope, "type");  // before Transformers 4.43
  if (type == nullptr || *type == "default") return;
  if (*type != "llama3") {
    Fail(path + "rope_type", absl::StrCat(type->dump(), " is not one of default, llama3"));
    return;
  }
  RopeScaling& scaling = config_.rope_scaling.emplace();
  scaling.factor = Positive(rope, path, "factor");
  scaling.low_freq_factor = Positive(rope, path, "low_freq_factor");
  scaling.high_freq_factor = Positive(rope, path, "high_freq_factor");
  const double positions = Positive(rope, path, "original_max_position_embeddings");
  scaling.original_max_positions = static_cast<int64_t>(positions);
  if (status_.ok() && scaling.high_freq_factor <= scaling.low_freq_factor) {
    Fail(path + "high_freq_factor", "is not above low_freq_factor");
  }
}

void ConfigReader::ReadRope() {
  const Json* parameters = Find(json_, "rope_parameters");
  const Json* scaling = Find(json_, "rope_scaling");
  const std::string path = parameters != nullptr ? "rope_parameters." : "rope_scaling.";
  const Json* rope = parameters != nullptr ? parameters : scaling;
  if (rope != nullptr && !rope->is_object()) {
    Fail(path.substr(0, path.size() - 1), "is not an object");
    return;
  }
  if (parameters != nullptr) {
    config_.rope_theta = Positive(*parameters, path, "rope_theta");
  } else if (Find(json_, "rope_theta") != nullptr || config_.family != DecoderFamily::kLlama) {
    config_.rope_theta = Positive(json_, "", "rope_theta");  // Llama's first had none: 10000
  }
  if (rope != nullptr) ReadScaling(*rope, path);
}

void ConfigReader::RefuseVariants() {
  const Json* activation = Find(json_, "hidden_act");
  if (activation == nullptr || *activation != "silu") {
    Fail("hidden_act", absl::StrCat(activation == nullptr ? "null" : activation->dump(),
                                    " is not one of \"silu\""));
  }
  Expect("attention_bias", false, "biases are not read");
  Expect("mlp_bias", false, "biases are not read");
  Expect("partial_rotary_factor", 1.0, "heads turn whole");
  if (Flag("use_sliding_window", true) && Find(json_, "sliding_window") != nullptr) {
    Fail("sliding_window", "is set: only full attention is computed");
  }
}

absl::StatusOr<DecoderConfig> ConfigReader::Read() {
  ReadFamily();
  if (status_.ok()) ReadSizes();
  if (status_.ok()) ReadRope();
  if (status_.ok()) RefuseVariants();
  if (!status_.ok()) return status_;
  return config_;
}

}  // namespace

absl::StatusOr<DecoderConfig> ReadDecoderConfig(const std::string& folder) {
  const std::string path = folder + "/config.json";
  std::ifstream in(path, std::ios::binary);
  if (!in) return InputError({.file = path}, "cannot be opened: is this a model's folder?");
  std::ostringstream text;
  text << in.rdbuf();
  Json json = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InputError({.file = path}, "is not a JSON object: is it complete?");
  return ConfigReader(path, std::move(json)).Read();
}

std::vector<double> InverseFrequencies(const DecoderConfig& config) {
  std::vector<double> frequencies = RopeFrequencies(config.rope_theta, config.model.head_dim);
  if (!config.rope_scaling.has_value()) return frequencies;
  const RopeScaling& scaling = *config.rope_scaling;
  constexpr double kTwoPi = 6.283185307179586;
  const auto original = static_cast<double>(scaling.original_max_positions);
  for (double& frequency : frequencies) {
    // How often the pair turns in the original context, from low_freq (stretch) to high (keep).
    const double turns = original * frequency / kTwoPi;
    const double kept =
        (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
    const double share = kept < 0 ? 0 : kept > 1 ? 1 : kept;
    frequency = (1 - share) * frequency / scaling.factor + share * frequency;
  }
  return frequencies;
}

}  // namespace batchvar
