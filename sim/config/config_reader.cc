#include "sim/config/config_reader.h"

#include <algorithm>
#include <cmath>

#include "sim/config/scalar_text.h"

namespace batchvar {
namespace {

// What a number out of range should have been. Upper ends that only mirror a type are named only to
// those who pass them.
std::string IntegerRangeWords(int64_t min, int64_t max, int64_t got) {
  if (max >= kMaxInt32) {
    return got > max ? "at most " + std::to_string(max) : "at least " + std::to_string(min);
  }
  return "between " + std::to_string(min) + " and " + std::to_string(max);
}

// A null or a container where a single value should stand.
std::string WrongKind(const ConfigNode& node, const char* expected) {
  if (node.IsNull()) return "has no value; give one or remove the key";
  return std::string("must be ") + expected + ", not " + KindName(node);
}

}  // namespace

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(word, names);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

bool NumberRange::Holds(double value) const {
  const bool above = min_open ? value > min : value >= min;
  const bool below = max_open ? value < max : value <= max;
  return above && below;
}

std::string NumberRange::Words() const {
  std::string words;
  if (std::isfinite(min)) words = (min_open ? "above " : "at least ") + NumberText(min);
  if (!std::isfinite(max)) return words;
  if (!words.empty()) words += " and ";
  return words + (max_open ? "below " : "at most ") + NumberText(max);
}

MapReader::MapReader(const ConfigNode& node, std::string path, FirstError* errors)
    : node_(node), path_(std::move(path)), errors_(errors) {
  if (!node.IsMap()) errors_->Add(node.mark, path_, WrongKind(node, "a map of keys"));
}

std::string MapReader::FieldOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const SourceMark& MapReader::MarkOf(std::string_view key) const {
  const ConfigEntry* entry = node_.Find(key);
  return entry == nullptr ? node_.mark : entry->value.mark;
}

const ConfigEntry* MapReader::Ask(std::string_view key) {
  known_.emplace_back(key);
  return node_.Find(key);
}

bool MapReader::IsPlain(const ConfigNode& value, const std::string& field, const char* expected) {
  if (!value.IsScalar()) {
    errors_->Add(value.mark, field, WrongKind(value, expected));
    return false;
  }
  if (!value.quoted) return true;
  errors_->Add(value.mark, field,
               "\"" + value.text + "\" is quoted text, not " + expected + "; remove the quotes");
  return false;
}

bool MapReader::IntegerOf(const ConfigNode& value, const std::string& field, int64_t min,
                          int64_t max, int64_t* number) {
  if (!IsPlain(value, field, "an integer")) return false;
  const std::string problem = ParseInteger(value.text, number);
  if (!problem.empty()) {
    errors_->Add(value.mark, field, problem);
    return false;
  }
  if (*number >= min && *number <= max) return true;
  errors_->Add(value.mark, field,
               "must be " + IntegerRangeWords(min, max, *number) + ", got " + value.text);
  return false;
}

bool MapReader::ReadInteger(std::string_view key, int64_t min, int64_t max, int64_t* value) {
  const ConfigEntry* entry = Ask(key);
  return entry != nullptr && IntegerOf(entry->value, FieldOf(key), min, max, value);
}

void MapReader::Integers(std::string_view key, int64_t min, int64_t max,
                         std::vector<int32_t>* values) {
  const ConfigEntry* entry = Ask(key);
  if (entry == nullptr) return;
  if (!entry->value.IsSequence()) {
    Error(key, WrongKind(entry->value, "a list of integers"));
    return;
  }
  for (size_t i = 0; i < entry->value.items.size(); ++i) {
    int64_t number = 0;
    const std::string field = FieldOf(key) + "[" + std::to_string(i) + "]";
    if (!IntegerOf(entry->value.items[i], field, min, max, &number)) return;
    values->push_back(static_cast<int32_t>(number));
  }
}

void MapReader::Unsigned(std::string_view key, uint64_t* value) {
  const ConfigEntry* entry = Ask(key);
  if (entry == nullptr || !IsPlain(entry->value, FieldOf(key), "an integer")) return;
  const std::string& text = entry->value.text;
  int64_t negative = 0;
  if (ParseInteger(text, &negative).empty() && negative < 0) {
    Error(key, "must be at least 0, got " + text);
    return;
  }
  const std::string problem = ParseUnsigned(text, value);
  if (!problem.empty()) Error(key, problem);
}

void MapReader::Number(std::string_view key, const NumberRange& range, double* value) {
  const ConfigEntry* entry = Ask(key);
  if (entry == nullptr || !IsPlain(entry->value, FieldOf(key), "a number")) return;
  double parsed = 0;
  const std::string problem = ParseNumber(entry->value.text, &parsed);
  if (!problem.empty()) {
    Error(key, problem);
  } else if (!range.Holds(parsed)) {
    Error(key, "must be " + range.Words() + ", got " + entry->value.text);
  } else {
    *value = parsed;
  }
}

void MapReader::Bool(std::string_view key, bool* value) {
  const ConfigEntry* entry = Ask(key);
  if (entry == nullptr || !IsPlain(entry->value, FieldOf(key), "a boolean")) return;
  const std::string problem = ParseBool(entry->value.text, value);
  if (!problem.empty()) Error(key, problem);
}

const std::string* MapReader::AskText(std::string_view key, const char* expected) {
  const ConfigEntry* entry = Ask(key);
  if (entry == nullptr) return nullptr;
  if (entry->value.IsScalar()) return &entry->value.text;
  Error(key, WrongKind(entry->value, expected));
  return nullptr;
}

void MapReader::Text(std::string_view key, std::string* value) {
  const std::string* text = AskText(key, "text");
  if (text != nullptr) *value = *text;
}

int MapReader::Word(std::string_view key, const std::vector<std::string>& words) {
  const std::string* text = AskText(key, "a name");
  if (text == nullptr) return -1;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) return static_cast<int>(found - words.begin());
  Error(key, "'" + *text + "' is not one of " + Listed(words) + DidYouMean(*text, words));
  return -1;
}

bool MapReader::IsWord(std::string_view key, std::string_view word) const {
  const ConfigEntry* entry = node_.Find(key);
  return entry != nullptr && entry->value.IsScalar() && !entry->value.quoted &&
         entry->value.text == word;
}

const ConfigNode* MapReader::Child(std::string_view key) {
  const ConfigEntry* entry = Ask(key);
  return entry == nullptr ? nullptr : &entry->value;
}

void MapReader::Require(std::initializer_list<const char*> keys) {
  required_.insert(required_.end(), keys.begin(), keys.end());
}

void MapReader::Refuse(const char* key, const std::string& message) {
  const ConfigEntry* entry = Ask(key);
  if (entry != nullptr) errors_->Add(entry->key_mark, FieldOf(key), message);
}

void MapReader::Error(std::string_view key, const std::string& message) {
  errors_->Add(MarkOf(key), FieldOf(key), message);
}

void MapReader::Finish() {
  for (const ConfigEntry& entry : node_.entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    errors_->Add(
        UnknownKeyError(entry.key_mark.At(FieldOf(entry.key)),
                        "unknown key '" + entry.key + "'" + DidYouMean(entry.key, known_)));
  }
  if (!node_.IsMap()) return;  // reported already
  for (const std::string& key : required_) {
    if (!Has(key)) errors_->Add(node_.mark, FieldOf(key), "is required");
  }
}

}  // namespace batchvar
