// The tokenizer of llama2.c, for stories260K: a table of pieces with scores. Text gets a blank in
// front, one token for each character, bytes for what has none; then the adjacent pair whose joined
// piece is in the table with the highest score merges, the leftmost of equals, until none is left.
// Repeated blanks stay, which SentencePiece itself would drop. Used through tokenizer.h.
// Source: karpathy/llama2.c, run.c encode() and decode(), 2024-07.
//
// The file, little-endian: int32 length of the longest piece, then for each id float32 score, int32
// length, bytes. Id 0 is unknown, 1 begins a text, 2 ends it, b + 3 is the byte b, written <0xBB>.
#ifndef BATCHVAR_KERNELS_TOKENIZER_LLAMA2C_TOKENIZER_H_
#define BATCHVAR_KERNELS_TOKENIZER_LLAMA2C_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kernels/tokenizer/tokenizer.h"

namespace batchvar {

class Llama2cTokenizer final : public Tokenizer {
 public:
  Llama2cTokenizer(std::vector<std::string> pieces, std::vector<float> scores);

  // Never fails. Special tokens have no written form.
  absl::StatusOr<std::vector<int32_t>> Encode(std::string_view text) const override;
  int32_t vocab_size() const override { return static_cast<int32_t>(pieces_.size()); }
  std::string TokenBytes(int32_t id) const override;
  // Without the special tokens, and without the blank in front of a text: at the first id and after
  // the one that begins a text.
  std::string Decode(std::span<const int32_t> ids) const override;

 private:
  std::vector<std::string> pieces_;
  std::vector<float> scores_;
  absl::flat_hash_map<std::string, int32_t> id_of_piece_;  // the first of equal pieces
};

// `bytes` are those of the file `path`, which is for messages. InputError if they are not such a
// table.
absl::StatusOr<std::unique_ptr<Tokenizer>> ReadLlama2cTokenizer(const std::string& path,
                                                                std::string_view bytes);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_TOKENIZER_LLAMA2C_TOKENIZER_H_
