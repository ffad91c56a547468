#include "kernels/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/tokenizer/byte_alphabet.h"
#include "kernels/tokenizer/byte_level_bpe.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxId = (1 << 24) - 1;  // no vocabulary is near it; bounds what a file can ask

// Fills the parts from the JSON tree and keeps the first error; what is read after it is not used.
class JsonReader {
 public:
  explicit JsonReader(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<ByteLevelBpeParts> Read(const Json& root) {
    RefuseNormalizer(root);
    ReadAddedTokens(root);
    const Json& model = Object(root, "model", "model");
    RefuseModelOptions(model);
    ReadVocabulary(model);
    ReadMerges(model);
    ReadPreTokenizer(root);
    if (!status_.ok()) return status_;
    return std::move(parts_);
  }

 private:
  void Fail(const std::string& field, const std::string& message) {
    if (status_.ok()) status_ = InputError({.file = path_, .field = field}, message);
  }

  // Null where the key is absent or null.
  static const Json* Find(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  const Json& Object(const Json& parent, const char* key, const std::string& field) {
    static const Json empty = Json::object();
    const Json* value = Find(parent, key);
    if (value != nullptr && value->is_object()) return *value;
    Fail(field, "must be an object");
    return empty;
  }
  std::string Text(const Json& parent, const char* key, const std::string& field) {
    const Json* value = Find(parent, key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    Fail(field, "must be a string");
    return {};
  }
  bool Flag(const Json& parent, const char* key, bool fallback, const std::string& field) {
    const Json* value = Find(parent, key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) Fail(field, "must be true or false");
    return value->is_boolean() && value->get<bool>();
  }
  // A token's id; 0 after an error.
  int32_t Id(const Json& value, const std::string& field) {
    if (value.is_number_integer() && value >= 0 && value <= kMaxId) return value.get<int32_t>();
    Fail(field, absl::StrCat("is no token id from 0 to ", kMaxId));
    return 0;
  }

  void RefuseNormalizer(const Json& root) {
    const Json* normalizer = Find(root, "normalizer");
    if (normalizer == nullptr) return;
    parts_.needs_nfc = normalizer->is_object() && normalizer->value("type", Json()) == "NFC";
    if (!parts_.needs_nfc) Fail("normalizer", "is neither null nor NFC: batchvar has no other");
  }
  void RefuseModelOptions(const Json& model) {
    if (const Json* type = Find(model, "type"); type != nullptr && *type != "BPE") {
      Fail("model.type", absl::StrCat("is ", type->dump(), ": batchvar reads byte-level BPE only"));
    }
    parts_.whole_pieces_first = Flag(model, "ignore_merges", false, "model.ignore_merges");
    if (Flag(model, "byte_fallback", false, "model.byte_fallback")) {
      Fail("model.byte_fallback",
           "is true: a SentencePiece model, and batchvar has byte-level BPE");
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json* value = Find(model, key);
      if (value != nullptr && *value != "") {
        Fail(absl::StrCat("model.", key), "is not empty, which a byte-level BPE's is");
      }
    }
    if (const Json* dropout = Find(model, "dropout"); dropout != nullptr && *dropout != 0.0) {
      Fail("model.dropout", "is not 0: such a tokenizer draws at random");
    }
  }

  void ReadAddedTokens(const Json& root);
  void ReadVocabulary(const Json& model);
  void ReadMerges(const Json& model);
  std::optional<int32_t> IdOfToken(const std::string& characters) const;
  bool IsAdded(int32_t id) const {
    return std::any_of(parts_.added.begin(), parts_.added.end(),
                       [id](const auto& token) { return token.second == id; });
  }
  // False, and an error, if the id is taken already by other bytes.
  void SetToken(int32_t id, std::string bytes, const std::string& field);
  void ReadPreTokenizer(const Json& root);
  void ReadStep(const Json& step, const std::string& field, std::vector<PreTokenizerStep>* steps);
  void ReadSplit(const Json& step, const std::string& field, std::vector<PreTokenizerStep>* steps);

  std::string path_;
  ByteLevelBpeParts parts_;
  std::vector<bool> taken_;      // ids
  bool cut_into_bytes_ = false;  // the last step read is a ByteLevel
  absl::Status status_;
};

void JsonReader::SetToken(int32_t id, std::string bytes, const std::string& field) {
  const auto at = static_cast<size_t>(id);
  if (at >= parts_.tokens.size()) {
    parts_.tokens.resize(at + 1);
    taken_.resize(at + 1);
  }
  if (taken_[at] && parts_.tokens[at] != bytes) {
    Fail(field, absl::StrCat("has the id ", id, ", which another token has too"));
  }
  taken_[at] = true;
  parts_.tokens[at] = std::move(bytes);
}

void JsonReader::ReadAddedTokens(const Json& root) {
  const Json* list = Find(root, "added_tokens");
  if (list == nullptr) return;
  if (!list->is_array()) return Fail("added_tokens", "must be a list");
  for (size_t i = 0; i < list->size() && status_.ok(); ++i) {
    const std::string field = absl::StrCat("added_tokens[", i, "]");
    const Json& token = (*list)[i];
    if (!token.is_object()) return Fail(field, "must be an object");
    const std::string content = Text(token, "content", field + ".content");
    const Json* id = Find(token, "id");
    if (content.empty()) Fail(field + ".content", "is empty");
    for (const char* key : {"single_word", "lstrip", "rstrip"}) {
      if (Flag(token, key, false, absl::StrCat(field, ".", key))) {
        Fail(absl::StrCat(field, ".", key), "is true, which batchvar does not read");
      }
    }
    if (id == nullptr) return Fail(field + ".id", "is missing");
    const int32_t number = Id(*id, field + ".id");
    SetToken(number, content, field);
    parts_.added.emplace_back(content, number);
  }
}

void JsonReader::ReadVocabulary(const Json& model) {
  const Json& vocabulary = Object(model, "vocab", "model.vocab");
  if (vocabulary.empty()) Fail("model.vocab", "is empty");
  for (const auto& [characters, value] : vocabulary.items()) {
    if (!status_.ok()) return;
    const std::string field = absl::StrCat("model.vocab[", Json(characters).dump(), "]");
    const int32_t id = Id(value, field);
    if (IsAdded(id)) {
      SetToken(id, characters, field);  // the same text, or two tokens share the id
      continue;
    }
    std::optional<std::string> bytes = BytesOfCharacters(characters);
    if (!bytes || bytes->empty()) {
      return Fail(field,
                  "is not written in the byte alphabet, nor an added token: no byte-level BPE");
    }
    parts_.id_of_bytes.emplace(*bytes, id);
    SetToken(id, *std::move(bytes), field);
  }
}

std::optional<int32_t> JsonReader::IdOfToken(const std::string& characters) const {
  const std::optional<std::string> bytes = BytesOfCharacters(characters);
  if (!bytes) return std::nullopt;
  const auto found = parts_.id_of_bytes.find(*bytes);
  if (found == parts_.id_of_bytes.end()) return std::nullopt;
  return found->second;
}

// Two strings in a list, or in one string with a blank between (before tokenizers 0.20).
std::optional<std::pair<std::string, std::string>> PairOf(const Json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  if (!merge.is_string()) return std::nullopt;
  const auto text = merge.get<std::string>();
  const size_t blank = text.find(' ');
  if (blank == std::string::npos || text.find(' ', blank + 1) != std::string::npos) {
    return std::nullopt;
  }
  return std::pair(text.substr(0, blank), text.substr(blank + 1));
}

void JsonReader::ReadMerges(const Json& model) {
  const Json* merges = Find(model, "merges");
  if (merges == nullptr || !merges->is_array()) return Fail("model.merges", "must be a list");
  for (size_t i = 0; i < merges->size() && status_.ok(); ++i) {
    const std::string field = absl::StrCat("model.merges[", i, "]");
    const auto pair = PairOf((*merges)[i]);
    if (!pair) return Fail(field, "is neither \"left right\" nor [\"left\", \"right\"]");
    const auto left = IdOfToken(pair->first);
    const auto right = IdOfToken(pair->second);
    const auto joined = IdOfToken(pair->first + pair->second);
    if (!left || !right || !joined) {
      const std::string& missing = !left    ? pair->first
                                   : !right ? pair->second
                                            : pair->first + pair->second;
      return Fail(field, absl::StrCat("needs the token ", Json(missing).dump(),
                                      ", which the vocabulary does not have"));
    }
    parts_.merges.insert({{*left, *right}, Merge{static_cast<double>(i), *joined}});
  }
}

void JsonReader::ReadPreTokenizer(const Json& root) {
  std::vector<PreTokenizerStep> steps;
  ReadStep(Object(root, "pre_tokenizer", "pre_tokenizer"), "pre_tokenizer", &steps);
  if (!cut_into_bytes_) Fail("pre_tokenizer", "does not end with ByteLevel: no byte-level BPE");
  if (!status_.ok()) return;
  absl::StatusOr<PreTokenizer> made = PreTokenizer::Make(steps);
  if (made.ok()) {
    parts_.pre_tokenizer = *std::move(made);
  } else {
    Fail("pre_tokenizer", std::string(made.status().message()));
  }
}

void JsonReader::ReadStep(const Json& step, const std::string& field,
                          std::vector<PreTokenizerStep>* steps) {
  if (!step.is_object()) return Fail(field, "must be an object");
  const std::string type = Text(step, "type", field + ".type");
  if (type == "Sequence") {
    if (field != "pre_tokenizer") return Fail(field, "is a sequence inside a sequence");
    const Json* list = Find(step, "pretokenizers");
    if (list == nullptr || !list->is_array()) {
      return Fail(field + ".pretokenizers", "must be a list");
    }
    for (size_t i = 0; i < list->size() && status_.ok(); ++i) {
      ReadStep((*list)[i], absl::StrCat(field, ".pretokenizers[", i, "]"), steps);
    }
    return;
  }
  cut_into_bytes_ = type == "ByteLevel";
  if (type == "ByteLevel") {
    const bool cuts = Flag(step, "use_regex", true, field + ".use_regex");
    const bool blank = Flag(step, "add_prefix_space", true, field + ".add_prefix_space");
    steps->push_back({cuts ? kGpt2Pattern : "", true, blank});
  } else if (type == "Digits") {
    const bool single = Flag(step, "individual_digits", false, field + ".individual_digits");
    steps->push_back({single ? "\\p{N}" : "\\p{N}+", true, false});
  } else if (type == "Split") {
    ReadSplit(step, field, steps);
  } else {
    Fail(field + ".type",
         absl::StrCat("is '", type, "'; batchvar reads Sequence, ByteLevel, Digits and Split"));
  }
}

void JsonReader::ReadSplit(const Json& step, const std::string& field,
                           std::vector<PreTokenizerStep>* steps) {
  const Json& pattern = Object(step, "pattern", field + ".pattern");
  std::string regex;
  if (Find(pattern, "String") != nullptr) {
    const std::string literal = Text(pattern, "String", field + ".pattern.String");
    if (literal.find("\\E") != std::string::npos) {
      Fail(field + ".pattern.String", "holds \\E, which cannot be quoted");
    }
    regex = "\\Q" + literal + "\\E";
  } else {
    regex = Text(pattern, "Regex", field + ".pattern.Regex");
  }
  if (regex.empty()) Fail(field + ".pattern", "is empty");
  const std::string behavior = Text(step, "behavior", field + ".behavior");
  const bool inverted = Flag(step, "invert", false, field + ".invert");
  // Inverted, the matches are what stays and the rest is the separator.
  if (behavior == "Isolated") {
    steps->push_back({regex, true, false});
  } else if (behavior == "Removed" && inverted) {
    steps->push_back({regex, false, false});
  } else {
    Fail(field + ".behavior", absl::StrCat("is '", behavior, "'", inverted ? " and inverted" : "",
                                           "; batchvar reads Isolated, and Removed if inverted"));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizerJson(const std::string& path,
                                                             std::string_view text) {
  Json root;
  try {
    root = Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    const auto line = 1 + std::count(text.begin(), end, '\n');
    return InputError({.file = path, .line = static_cast<int>(line)}, "is not JSON: cut off?");
  }
  if (!root.is_object()) return InputError({.file = path}, "must hold one JSON object");
  absl::StatusOr<ByteLevelBpeParts> parts = JsonReader(path).Read(root);
  if (!parts.ok()) return parts.status();
  return std::make_unique<ByteLevelBpe>(*std::move(parts));
}

}  // namespace batchvar
