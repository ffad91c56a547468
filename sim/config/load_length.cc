// `prompt_len:` and `output_len:` -> LengthSpec, with the file of an empirical distribution.
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/config_files.h"
#include "sim/config/scalar_text.h"
#include "sim/config/spec_names.h"
#include "sim/config/spec_parts.h"

namespace batchvar {
namespace {

constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";
// A zipf distribution is drawn from a table with an entry for every length.
constexpr int64_t kMaxZipfLengths = 1 << 20;

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// One `tokens,weight` line; a problem comes back as the field it is in and what is wrong.
absl::Status ParseLengthLine(const std::string& line, const Location& where, LengthSpec* length) {
  Location at = where;
  const size_t comma = line.find(',');
  if (comma == std::string::npos || line.find(',', comma + 1) != std::string::npos) {
    return InputError(at, "must be tokens,weight");
  }
  at.field = "tokens";
  int64_t tokens = 0;
  std::string problem = ParseInteger(Trimmed(line.substr(0, comma)), &tokens);
  if (problem.empty() && (tokens < 1 || tokens > kMaxTokens)) {
    problem =
        "must be between 1 and " + std::to_string(kMaxTokens) + ", got " + std::to_string(tokens);
  }
  if (!problem.empty()) return InputError(at, problem);
  at.field = "weight";
  double weight = 0;
  problem = ParseNumber(Trimmed(line.substr(comma + 1)), &weight);
  if (problem.empty() && weight < 0) problem = "must be at least 0";
  if (!problem.empty()) return InputError(at, problem);
  length->empirical.emplace_back(static_cast<int32_t>(tokens), weight);
  return absl::OkStatus();
}

absl::Status ParseLengthTable(const std::string& text, const std::string& path,
                              LengthSpec* length) {
  std::istringstream in(text.starts_with(kByteOrderMark) ? text.substr(3) : text);
  Location where{path, 0, 0, ""};
  double sum = 0;
  bool header_allowed = true;
  for (std::string line; std::getline(in, line);) {
    ++where.line;
    line = Trimmed(line);
    if (line.empty()) continue;
    const bool is_header = header_allowed && line == "tokens,weight";
    header_allowed = false;
    if (is_header) continue;
    const absl::Status status = ParseLengthLine(line, where, length);
    if (!status.ok()) return status;
    sum += length->empirical.back().second;
  }
  where.line = 0;
  if (length->empirical.empty()) return InputError(where, "has no tokens,weight lines");
  if (!(sum > 0) || !std::isfinite(sum)) {
    return InputError(where, "the weights must add up to a finite number above 0");
  }
  return absl::OkStatus();
}

class LengthSection {
 public:
  LengthSection(const ConfigNode& node, std::string path, const std::string& folder,
                FirstError* errors)
      : node_(node), path_(std::move(path)), folder_(folder), errors_(errors) {}

  LengthSpec Read() {
    const ConfigNode* value = ReadDistribution();
    if (value == nullptr) return length_;
    if (length_.distribution == LengthDistribution::kFixed) return length_;
    const std::string name = NameIn(kLengthNames, length_.distribution);
    MapReader reader(*value, path_ + "." + name, errors_);
    ReadParameters(&reader);
    reader.Finish();
    if (!errors_->ok()) return length_;
    if (length_.min > length_.max) {
      reader.Error("min", "is more than max, " + std::to_string(length_.max));
    }
    const int64_t lengths = int64_t{length_.max} - length_.min + 1;
    if (length_.distribution == LengthDistribution::kZipf && lengths > kMaxZipfLengths) {
      reader.Error("max", "zipf spans at most " + std::to_string(kMaxZipfLengths) + " lengths");
    }
    if (length_.distribution == LengthDistribution::kEmpirical) {
      ReadTable(reader.MarkOf("path"));
    }
    return length_;
  }

 private:
  // Exactly one key, which names the distribution; its value comes back.
  const ConfigNode* ReadDistribution() {
    if (node_.IsScalar()) {
      errors_->Add(node_.mark, path_, "must name a distribution, as in {fixed: 1000}");
      return nullptr;
    }
    MapReader reader(node_, path_, errors_);
    const ConfigNode* found = nullptr;
    for (const auto& [name, distribution] : kLengthNames) {
      const bool is_fixed = distribution == LengthDistribution::kFixed;
      if (is_fixed) reader.Integer(name, 1, kMaxTokens, &length_.fixed);
      const ConfigNode* value = reader.Child(name);
      if (value == nullptr) continue;
      if (found != nullptr) reader.Error(name, "a length has one distribution; remove the other");
      found = value;
      length_.distribution = distribution;
    }
    reader.Finish();
    if (found == nullptr) {
      errors_->Add(node_.mark, path_,
                   "needs a distribution: fixed, uniform, normal, lognormal, zipf or empirical");
    }
    return errors_->ok() ? found : nullptr;
  }

  void ReadParameters(MapReader* reader) {
    switch (length_.distribution) {
      case LengthDistribution::kFixed: break;
      case LengthDistribution::kUniform:
        reader->Require({"min", "max"});
        ReadBounds(reader);
        break;
      case LengthDistribution::kNormal:
      case LengthDistribution::kLognormal:
        reader->Require({"mean", "stddev"});
        reader->Number("mean", NumberRange::Above(0), &length_.mean);
        reader->Number("stddev", NumberRange::AtLeast(0), &length_.stddev);
        ReadBounds(reader);
        break;
      case LengthDistribution::kZipf:
        reader->Require({"theta", "min", "max"});
        reader->Number("theta", NumberRange::AtLeast(0), &length_.theta);
        ReadBounds(reader);
        break;
      case LengthDistribution::kEmpirical:
        reader->Require({"path"});
        reader->Text("path", &length_.path);
        break;
    }
  }

  void ReadBounds(MapReader* reader) {
    reader->Integer("min", 1, kMaxTokens, &length_.min);
    reader->Integer("max", 1, kMaxTokens, &length_.max);
  }

  void ReadTable(const SourceMark& mark) {
    const std::string path = ResolvePath(length_.path, folder_, mark);
    const FileText file = ReadFileText(path);
    if (!file.problem.empty()) {
      errors_->Add(InputError({path, 0, 0, path_ + ".empirical.path"}, file.problem));
      return;
    }
    errors_->Add(ParseLengthTable(file.text, path, &length_));
  }

  const ConfigNode& node_;
  std::string path_;
  const std::string& folder_;
  FirstError* errors_;
  LengthSpec length_;
};

}  // namespace

LengthSpec ReadLength(const ConfigNode& node, const std::string& path, const std::string& folder,
                      FirstError* errors) {
  return LengthSection(node, path, folder, errors).Read();
}

}  // namespace batchvar
