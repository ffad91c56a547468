// Reads tokenizer.json of Hugging Face tokenizers (0.23, 2026) where it is a byte-level BPE: models
// "BPE"; pre-tokenizers ByteLevel, Digits, Split and sequences of them; normalizer none or NFC.
// What would change ids and is not computed here is an error that names the field, never left out
// in silence; the post-processor (which adds special tokens) and the decoder's options are not
// read. Called by ReadTokenizer().
#ifndef BATCHVAR_KERNELS_TOKENIZER_TOKENIZER_JSON_H_
#define BATCHVAR_KERNELS_TOKENIZER_TOKENIZER_JSON_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kernels/tokenizer/tokenizer.h"

namespace batchvar {

// `text` is the content of the file `path`, which is for messages. InputError with the field, or
// with the line where it is not JSON.
absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizerJson(const std::string& path,
                                                             std::string_view text);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_TOKENIZER_TOKENIZER_JSON_H_
