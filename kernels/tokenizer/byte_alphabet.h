// The alphabet of byte-level BPE: every byte is one printable character, so that a vocabulary can
// be written as text. Also UTF-8, as far as tokenizers need it. Used by byte_level_bpe.cc,
// tokenizer_json.cc and llama2c_tokenizer.cc.
// Source: GPT-2's bytes_to_unicode(), as in Hugging Face tokenizers 0.23 (2026).
#ifndef BATCHVAR_KERNELS_TOKENIZER_BYTE_ALPHABET_H_
#define BATCHVAR_KERNELS_TOKENIZER_BYTE_ALPHABET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace batchvar {

// The character of a byte, in UTF-8: printable ASCII and Latin-1 stand for themselves, the others
// are U+0100 and up in ascending order ("Ġ" is the blank).
std::string ByteCharacter(uint8_t byte);
// Text in the alphabet -> bytes; nullopt if a character is not of the alphabet.
std::optional<std::string> BytesOfCharacters(std::string_view characters);

// Length of the well-formed UTF-8 character at the front of `text`; 0 if there is none.
size_t Utf8Length(std::string_view text);
// Every byte that is not part of well-formed UTF-8 as \xNN, the rest as it is: for showing tokens,
// which may end inside a character.
std::string EscapeInvalidUtf8(std::string_view bytes);

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_TOKENIZER_BYTE_ALPHABET_H_
