#include "kernels/tokenizer/llama2c_tokenizer.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/tokenizer/byte_alphabet.h"
#include "kernels/tokenizer/merge_symbols.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

static_assert(std::endian::native == std::endian::little, "the table is read as it is stored");

constexpr int32_t kBegin = 1;
constexpr int32_t kFirstByte = 3;  // unknown, begin and end stand before it
constexpr int32_t kBytes = 256;

// "<0x0A>" -> "\n"; nullopt for any other piece.
std::optional<char> ByteOfPiece(std::string_view piece) {
  if (piece.size() != 6 || piece.substr(0, 3) != "<0x" || piece.back() != '>') return std::nullopt;
  int byte = 0;
  const char* end = piece.data() + 5;
  const auto read = std::from_chars(piece.data() + 3, end, byte, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return static_cast<char>(byte);
}

// Takes a T from the front; false if there are not enough bytes.
template <typename T>
bool Take(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof(T)) return false;
  std::memcpy(value, bytes->data(), sizeof(T));
  bytes->remove_prefix(sizeof(T));
  return true;
}

// Length of the next character as llama2.c cuts text: a byte and up to three that continue it.
size_t CharacterLength(std::string_view text) {
  size_t length = 1;
  while (length < 4 && length < text.size() &&
         (static_cast<uint8_t>(text[length]) & 0xc0) == 0x80) {
    ++length;
  }
  return length;
}

}  // namespace

Llama2cTokenizer::Llama2cTokenizer(std::vector<std::string> pieces, std::vector<float> scores)
    : pieces_(std::move(pieces)), scores_(std::move(scores)) {
  for (size_t id = 0; id < pieces_.size(); ++id) {
    id_of_piece_.emplace(pieces_[id], static_cast<int32_t>(id));
  }
}

absl::StatusOr<std::vector<int32_t>> Llama2cTokenizer::Encode(std::string_view text) const {
  std::vector<int32_t> ids;
  const auto append = [&](const std::string& character) {
    const auto found = id_of_piece_.find(character);
    if (found != id_of_piece_.end()) {
      ids.push_back(found->second);
    } else {
      for (const char c : character) ids.push_back(static_cast<uint8_t>(c) + kFirstByte);
    }
  };
  if (!text.empty()) append(" ");
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    append(std::string(text.substr(0, length)));
    text.remove_prefix(length);
  }
  const auto find = [this](int32_t left, int32_t right) -> std::optional<Merge> {
    const auto found = id_of_piece_.find(
        absl::StrCat(pieces_[static_cast<size_t>(left)], pieces_[static_cast<size_t>(right)]));
    if (found == id_of_piece_.end()) return std::nullopt;
    return Merge{-static_cast<double>(scores_[static_cast<size_t>(found->second)]), found->second};
  };
  return MergeSymbols(std::move(ids), find);
}

std::string Llama2cTokenizer::TokenBytes(int32_t id) const {
  if (id < 0 || id >= vocab_size()) return {};
  const std::string& piece = pieces_[static_cast<size_t>(id)];
  const std::optional<char> byte = ByteOfPiece(piece);
  return byte ? std::string(1, *byte) : piece;
}

std::string Llama2cTokenizer::Decode(std::span<const int32_t> ids) const {
  std::string text;
  bool begins = true;
  for (const int32_t id : ids) {
    if (id >= 0 && id < kFirstByte) {
      begins = begins || id == kBegin;
      continue;
    }
    const std::string bytes = TokenBytes(id);
    const bool drops_blank = begins && !bytes.empty() && bytes.front() == ' ';
    text.append(bytes, drops_blank ? 1 : 0, std::string::npos);
    begins = false;
  }
  return text;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadLlama2cTokenizer(const std::string& path,
                                                                std::string_view bytes) {
  const auto error = [&](size_t id, const std::string& what) {
    return InputError({.file = path, .field = absl::StrCat("piece ", id)},
                      absl::StrCat(what,
                                   ": not a tokenizer table of llama2.c (and no "
                                   "tokenizer.json, which begins with '{')"));
  };
  int32_t longest = 0;
  if (!Take(&bytes, &longest)) return error(0, "the file ends before it");
  std::vector<std::string> pieces;
  std::vector<float> scores;
  while (!bytes.empty()) {
    float score = 0;
    int32_t length = 0;
    if (!Take(&bytes, &score) || !Take(&bytes, &length)) {
      return error(pieces.size(), "the file ends inside of it");
    }
    if (length < 0 || length > longest || static_cast<size_t>(length) > bytes.size()) {
      return error(pieces.size(), absl::StrCat("a length of ", length, ", longest ", longest,
                                               ", with ", bytes.size(), " bytes left"));
    }
    if (!std::isfinite(score)) return error(pieces.size(), "a score that is not a number");
    pieces.emplace_back(bytes.substr(0, static_cast<size_t>(length)));
    scores.push_back(score);
    bytes.remove_prefix(static_cast<size_t>(length));
  }
  for (int32_t byte = 0; byte < kBytes; ++byte) {
    const auto id = static_cast<size_t>(byte + kFirstByte);
    if (id >= pieces.size() || ByteOfPiece(pieces[id]) != static_cast<char>(byte)) {
      return error(id, "not the byte that belongs there");
    }
  }
  return std::make_unique<Llama2cTokenizer>(std::move(pieces), std::move(scores));
}

}  // namespace batchvar
