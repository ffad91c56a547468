// Byte-level BPE, as GPT-2, Llama 3, Qwen and SmolLM2 have it: special tokens are cut out, the rest
// is cut into pieces by the pre-tokenizer, and in each piece pairs of tokens merge in the order of
// the merge list. Made by tokenizer_json.h; used through tokenizer.h.
// Source: Hugging Face tokenizers 0.23 (2026), models/bpe, added_vocabulary.
#ifndef BATCHVAR_KERNELS_TOKENIZER_BYTE_LEVEL_BPE_H_
#define BATCHVAR_KERNELS_TOKENIZER_BYTE_LEVEL_BPE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kernels/tokenizer/merge_symbols.h"
#include "kernels/tokenizer/pre_tokenizer.h"
#include "kernels/tokenizer/tokenizer.h"

namespace batchvar {

struct ByteLevelBpeParts {
  std::vector<std::string> tokens;  // bytes of each id; "" where an id is unused
  // Those of `tokens` that text is made of: the vocabulary without added tokens.
  absl::flat_hash_map<std::string, int32_t> id_of_bytes;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, Merge> merges;  // (left, right) -> what, when
  std::vector<std::pair<std::string, int32_t>> added;  // matched in the text as they are
  PreTokenizer pre_tokenizer;
  bool whole_pieces_first = false;  // ignore_merges: a piece that is a token is not merged together
  bool needs_nfc = false;           // the text is put into normal form NFC first
};

class ByteLevelBpe final : public Tokenizer {
 public:
  explicit ByteLevelBpe(ByteLevelBpeParts parts);

  // Also InvalidArgument for text that may not be in NFC where the model needs it: normalising is
  // not done here.
  absl::StatusOr<std::vector<int32_t>> Encode(std::string_view text) const override;
  int32_t vocab_size() const override { return static_cast<int32_t>(parts_.tokens.size()); }
  std::string TokenBytes(int32_t id) const override;

 private:
  // The longest added token at the front of `text`; null if there is none.
  const std::pair<std::string, int32_t>* AddedAtFrontOf(std::string_view text) const;
  absl::Status EncodePlain(std::string_view text, std::vector<int32_t>* ids) const;
  absl::Status EncodePiece(const std::string& piece, std::vector<int32_t>* ids) const;

  ByteLevelBpeParts parts_;
  std::array<int32_t, 256> id_of_byte_;  // -1 where the vocabulary lacks the byte
  // First byte -> added tokens that begin with it, longest first.
  std::map<char, std::vector<std::pair<std::string, int32_t>>> added_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_TOKENIZER_BYTE_LEVEL_BPE_H_
