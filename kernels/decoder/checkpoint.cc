#include "kernels/decoder/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "sim/numerics/float_bits.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are read as they lie");

constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";

template <typename Word>
Word WordAt(const TensorView& tensor, int64_t i) {
  Word word;
  std::memcpy(&word, tensor.bytes.data() + i * sizeof(Word), sizeof(Word));
  return word;
}

float ValueAt(const TensorView& tensor, int64_t i) {
  if (tensor.dtype == "BF16") return Widen(WordAt<uint16_t>(tensor, i), DType::kBf16);
  if (tensor.dtype == "F16") return Widen(WordAt<uint16_t>(tensor, i), DType::kFp16);
  return WordAt<float>(tensor, i);
}

std::vector<int64_t> ListOf(const TensorShape& shape) {
  if (shape.columns == 0) return {shape.rows};
  return {shape.rows, shape.columns};
}

absl::Status NotFinite(const Location& where, int64_t element, const std::string& what) {
  return InputError(where, absl::StrCat("element ", element, " ", what));
}

}  // namespace

absl::Status Checkpoint::ReadIndex(const std::string& folder) {
  std::ifstream in(path_, std::ios::binary);
  if (!in) return InputError({.file = path_}, "cannot be opened");
  std::ostringstream text;
  text << in.rdbuf();
  const Json index = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return InputError({.file = path_}, "is not a JSON object with a weight_map: is it complete?");
  }
  std::map<std::string, int64_t> files;  // by name
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    if (!IsPrintable(tensor)) {
      return InputError({.file = path_}, "a tensor's name has characters that are not printable");
    }
    const Location where = {.file = path_, .field = tensor};
    if (!shard.is_string()) return InputError(where, "weight_map gives no file name");
    const auto name = shard.get<std::string>();
    if (name != std::filesystem::path(name).filename() || name == "..") {
      return InputError(where, absl::StrCat("weight_map names ", shard.dump(),
                                            ", which is not a file of this folder"));
    }
    const auto [known, added] = files.emplace(name, std::ssize(files_));
    if (added) {
      absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(folder + "/" + name);
      if (!file.ok()) return file.status();
      files_.push_back(*std::move(file));
    }
    if (files_[known->second].Find(tensor) == nullptr) {
      return InputError(where, absl::StrCat("is not in ", name, ", where weight_map puts it"));
    }
    file_of_[tensor] = known->second;
  }
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::string& folder) {
  Checkpoint checkpoint;
  checkpoint.path_ = folder + "/" + kSingleFile;
  if (!std::filesystem::exists(checkpoint.path_)) {
    if (!std::filesystem::exists(folder + "/" + kIndexFile)) {
      return InputError({.file = folder},
                        absl::StrCat("has neither ", kSingleFile, " nor ", kIndexFile));
    }
    checkpoint.path_ = folder + "/" + kIndexFile;
    if (absl::Status status = checkpoint.ReadIndex(folder); !status.ok()) return status;
    return checkpoint;
  }
  absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(checkpoint.path_);
  if (!file.ok()) return file.status();
  for (const auto& [name, tensor] : file->tensors()) checkpoint.file_of_[name] = 0;
  checkpoint.files_.push_back(*std::move(file));
  return checkpoint;
}

const std::string& Checkpoint::FileOf(const std::string& name) const {
  return files_[file_of_.at(name)].path();
}

absl::StatusOr<const TensorView*> Checkpoint::Find(const std::string& name,
                                                   const TensorShape& shape) const {
  const auto found = file_of_.find(name);
  if (found == file_of_.end()) {
    return InputError({.file = path_, .field = name},
                      "is missing: config.json describes a model that has it");
  }
  const TensorView* tensor = files_[found->second].Find(name);
  const Location where = {.file = FileOf(name), .field = name};
  if (tensor->dtype != "BF16" && tensor->dtype != "F16" && tensor->dtype != "F32") {
    return InputError(
        where, absl::StrCat("dtype ", tensor->dtype, " cannot be a weight: use BF16, F16 or F32"));
  }
  const std::vector<int64_t> wanted = ListOf(shape);
  if (tensor->shape != wanted) {
    return InputError(where,
                      absl::StrCat("has shape [", absl::StrJoin(tensor->shape, ", "),
                                   "], config.json asks for [", absl::StrJoin(wanted, ", "), "]"));
  }
  return tensor;
}

absl::Status Checkpoint::Append(const std::string& name, const TensorShape& shape,
                                std::vector<float>* values) const {
  const absl::StatusOr<const TensorView*> tensor = Find(name, shape);
  if (!tensor.ok()) return tensor.status();
  const int64_t count = shape.NumElements();
  values->reserve(values->size() + count);
  for (int64_t i = 0; i < count; ++i) {
    const float value = ValueAt(**tensor, i);
    if (!std::isfinite(value)) {
      return NotFinite({.file = FileOf(name), .field = name}, i,
                       std::isnan(value) ? "is not a number" : "is infinite");
    }
    values->push_back(value);
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::AppendWords(const std::string& name, const TensorShape& shape, DType dtype,
                                     std::vector<uint16_t>* words) const {
  std::vector<float> values;
  if (absl::Status status = Append(name, shape, &values); !status.ok()) return status;
  words->reserve(words->size() + values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    words->push_back(Narrow(values[i], dtype));
    if (std::isfinite(Widen(words->back(), dtype))) continue;
    return NotFinite({.file = FileOf(name), .field = name}, static_cast<int64_t>(i),
                     absl::StrCat("overflows ", DTypeName(dtype), ": choose bf16"));
  }
  return absl::OkStatus();
}

std::string Checkpoint::FirstWithPrefix(const std::string& prefix) const {
  const auto found = file_of_.lower_bound(prefix);
  return found != file_of_.end() && absl::StartsWith(found->first, prefix) ? found->first : "";
}

}  // namespace batchvar
