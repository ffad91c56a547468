// Text to token ids and back, for models that batchvar runs itself. Two kinds, told by the file:
// byte-level BPE in Hugging Face's tokenizer.json (byte_level_bpe.h), and llama2.c's table
// (llama2c_tokenizer.h). Objects do not change after reading; threads may share one.
//
// No beginning-of-text token is added: whether a model wants one is for its caller to know.
#ifndef BATCHVAR_KERNELS_TOKENIZER_TOKENIZER_H_
#define BATCHVAR_KERNELS_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace batchvar {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Special tokens in the text become one id each. InvalidArgument, naming what, if the vocabulary
  // cannot write the text.
  virtual absl::StatusOr<std::vector<int32_t>> Encode(std::string_view text) const = 0;

  // Ids are from 0 to vocab_size() - 1; some may be unused, and mean no text.
  virtual int32_t vocab_size() const = 0;
  // The bytes of one token as it stands between others; they may end inside a UTF-8 character
  // (EscapeInvalidUtf8() shows them). An id outside of the vocabulary has none: a model's output
  // layer may be padded.
  virtual std::string TokenBytes(int32_t id) const = 0;

  // Bytes of all tokens, special ones as their names. Decode(Encode(text)) is the text, unless the
  // model's pre-tokenizer adds a blank or leaves something out.
  virtual std::string Decode(std::span<const int32_t> ids) const;
};

// Reads `path`: tokenizer.json if its first character is '{', else llama2.c's table. A file that
// cannot be read or is not what it seems is one InputError that names file and field.
absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const std::string& path);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_TOKENIZER_TOKENIZER_H_
