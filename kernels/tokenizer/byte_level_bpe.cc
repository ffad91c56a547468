#include "kernels/tokenizer/byte_level_bpe.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/tokenizer/byte_alphabet.h"

namespace batchvar {
namespace {

// Below U+0300, the first combining mark, every text is in NFC: two UTF-8 bytes that begin with
// less than 0xcc. Bytes that are not UTF-8 stay out of it.
bool MayNeedNormalising(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) >= 0xcc; });
}

}  // namespace

ByteLevelBpe::ByteLevelBpe(ByteLevelBpeParts parts) : parts_(std::move(parts)) {
  for (size_t byte = 0; byte < id_of_byte_.size(); ++byte) {
    const auto found = parts_.id_of_bytes.find(std::string(1, static_cast<char>(byte)));
    id_of_byte_[byte] = found == parts_.id_of_bytes.end() ? -1 : found->second;
  }
  for (const auto& token : parts_.added) added_[token.first.front()].push_back(token);
  for (auto& [first, tokens] : added_) {
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  }
}

std::string ByteLevelBpe::TokenBytes(int32_t id) const {
  if (id < 0 || id >= vocab_size()) return {};
  return parts_.tokens[static_cast<size_t>(id)];
}

const std::pair<std::string, int32_t>* ByteLevelBpe::AddedAtFrontOf(std::string_view text) const {
  const auto found = added_.find(text.front());
  if (found == added_.end()) return nullptr;
  for (const auto& token : found->second) {
    if (text.substr(0, token.first.size()) == token.first) return &token;
  }
  return nullptr;
}

absl::StatusOr<std::vector<int32_t>> ByteLevelBpe::Encode(std::string_view text) const {
  if (parts_.needs_nfc && MayNeedNormalising(text)) {
    return absl::InvalidArgumentError(
        "this tokenizer puts text into Unicode's normal form NFC first, which batchvar does only "
        "for "
        "Latin text (below U+0300); give token ids instead");
  }
  std::vector<int32_t> ids;
  size_t plain = 0;  // where the text begins that no added token has taken
  for (size_t at = 0; at < text.size();) {
    const auto* added = AddedAtFrontOf(text.substr(at));
    if (added == nullptr) {
      ++at;
      continue;
    }
    absl::Status status = EncodePlain(text.substr(plain, at - plain), &ids);
    if (!status.ok()) return status;
    ids.push_back(added->second);
    plain = at += added->first.size();
  }
  if (absl::Status status = EncodePlain(text.substr(plain), &ids); !status.ok()) return status;
  return ids;
}

absl::Status ByteLevelBpe::EncodePlain(std::string_view text, std::vector<int32_t>* ids) const {
  const absl::StatusOr<std::vector<std::string>> pieces = parts_.pre_tokenizer.Cut(text);
  if (!pieces.ok()) return pieces.status();
  for (const std::string& piece : *pieces) {
    if (absl::Status status = EncodePiece(piece, ids); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ByteLevelBpe::EncodePiece(const std::string& piece, std::vector<int32_t>* ids) const {
  if (parts_.whole_pieces_first) {
    const auto whole = parts_.id_of_bytes.find(piece);
    if (whole != parts_.id_of_bytes.end()) {
      ids->push_back(whole->second);
      return absl::OkStatus();
    }
  }
  std::vector<int32_t> symbols;
  for (const char c : piece) {
    const auto byte = static_cast<uint8_t>(c);
    if (id_of_byte_[byte] < 0) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the model's vocabulary has no token for the byte 0x%02x; leave it out of the text",
          byte));
    }
    symbols.push_back(id_of_byte_[byte]);
  }
  const auto find = [this](int32_t left, int32_t right) -> std::optional<Merge> {
    const auto found = parts_.merges.find({left, right});
    if (found == parts_.merges.end()) return std::nullopt;
    return found->second;
  };
  const std::vector<int32_t> merged = MergeSymbols(std::move(symbols), find);
  ids->insert(ids->end(), merged.begin(), merged.end());
  return absl::OkStatus();
}

}  // namespace batchvar
