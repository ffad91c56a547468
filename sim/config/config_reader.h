// Typed reading of a ConfigNode map. One MapReader reads one map: it is asked for every key that
// the map may hold, and Finish() then reports the keys nobody asked for. Values of absent keys stay
// as they are, so the caller puts the default there first. Errors go to a FirstError, which every
// reader of one file shares; reading goes on after an error, so callers check once per section.
#ifndef BATCHVAR_SIM_CONFIG_CONFIG_READER_H_
#define BATCHVAR_SIM_CONFIG_CONFIG_READER_H_

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sim/base/enum_names.h"
#include "sim/config/config_node.h"

namespace batchvar {

// Keeps the first error; later ones are often its consequences.
class FirstError {
 public:
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  void Add(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }
  void Add(const SourceMark& mark, const std::string& field, const std::string& message) {
    if (status_.ok()) status_ = ConfigError(mark.At(field), message);
  }

 private:
  absl::Status status_;
};

// An interval of doubles; an open end is excluded.
struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  bool min_open = false;
  double max = std::numeric_limits<double>::infinity();
  bool max_open = false;

  bool Holds(double value) const;
  std::string Words() const;  // "above 0", "at least 0 and below 1"

  static constexpr NumberRange AtLeast(double min) { return {.min = min}; }
  static constexpr NumberRange Above(double min) { return {.min = min, .min_open = true}; }
};

class MapReader {
 public:
  // `path` is the dotted path of `node` ("" for a whole file). `node` must outlive the reader. A
  // node that is not a map is reported and then reads like an empty one.
  MapReader(const ConfigNode& node, std::string path, FirstError* errors);

  bool Has(std::string_view key) const { return node_.Find(key) != nullptr; }
  std::string FieldOf(std::string_view key) const;
  // The value's place, or the map's when the key is absent.
  const SourceMark& MarkOf(std::string_view key) const;

  template <typename T>
  void Integer(std::string_view key, int64_t min, int64_t max, T* value) {
    int64_t wide = 0;
    if (ReadInteger(key, min, max, &wide)) *value = static_cast<T>(wide);
  }
  // A list, each element in range.
  void Integers(std::string_view key, int64_t min, int64_t max, std::vector<int32_t>* values);
  void Unsigned(std::string_view key, uint64_t* value);
  void Number(std::string_view key, const NumberRange& range, double* value);
  void Bool(std::string_view key, bool* value);
  void Text(std::string_view key, std::string* value);

  // The index of the value among `words`; -1 when absent or wrong.
  int Word(std::string_view key, const std::vector<std::string>& words);
  template <typename T>
  void Enum(std::string_view key, EnumNames<T> names, T* value) {
    std::vector<std::string> words;
    for (const auto& [name, unused] : names) words.emplace_back(name);
    const int found = Word(key, words);
    if (found >= 0) *value = (names.begin() + found)->second;
  }

  // True when the value is this plain word (`auto`).
  bool IsWord(std::string_view key, std::string_view word) const;
  // A nested value, to be read by another reader; nullptr when absent.
  const ConfigNode* Child(std::string_view key);

  // Reported by Finish(), after unknown keys: a misspelt key explains a missing one.
  void Require(std::initializer_list<const char*> keys);
  // Keys that exist but mean nothing here: "not used by ...".
  void Refuse(std::initializer_list<const char*> keys, const std::string& user) {
    for (const char* key : keys) Refuse(key, "is not used by " + user + "; remove it");
  }
  // The same for one key, in words of your own.
  void Refuse(const char* key, const std::string& message);

  void Error(std::string_view key, const std::string& message);
  // Unknown keys, then missing ones.
  void Finish();

 private:
  const ConfigEntry* Ask(std::string_view key);
  // False, and an error, unless the value is a plain scalar; `expected` is "an integer" and so on.
  bool IsPlain(const ConfigNode& value, const std::string& field, const char* expected);
  bool IntegerOf(const ConfigNode& value, const std::string& field, int64_t min, int64_t max,
                 int64_t* number);
  bool ReadInteger(std::string_view key, int64_t min, int64_t max, int64_t* value);
  // The value's text, quoted or not; nullptr when absent or not a scalar.
  const std::string* AskText(std::string_view key, const char* expected);

  const ConfigNode& node_;
  std::string path_;
  FirstError* errors_;
  std::vector<std::string> known_;
  std::vector<std::string> required_;
};

// "a, b, c"
std::string Listed(const std::vector<std::string>& names);
// "; did you mean 'NAME'?" or "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& names);

// Ranges that several sections share.
inline constexpr int64_t kMaxTokens = 1 << 24;  // tokens of a request, of a step, of a tile
inline constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_CONFIG_READER_H_
