#include "kernels/tokenizer/byte_alphabet.h"

#include <array>

namespace batchvar {
namespace {

bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr int kFirstOther = 0x100;
constexpr int kOthers = 68;  // bytes that do not stand for themselves

struct Alphabet {
  std::array<int, 256> code_of{};                    // byte -> code point
  std::array<int, kFirstOther + kOthers> byte_of{};  // code point -> byte, -1 for none
};

Alphabet MakeAlphabet() {
  Alphabet alphabet;
  alphabet.byte_of.fill(-1);
  int other = kFirstOther;
  for (int byte = 0; byte < 256; ++byte) {
    const int code = StandsForItself(byte) ? byte : other++;
    alphabet.code_of[static_cast<size_t>(byte)] = code;
    alphabet.byte_of[static_cast<size_t>(code)] = byte;
  }
  return alphabet;
}

const Alphabet& TheAlphabet() {
  static const Alphabet alphabet = MakeAlphabet();
  return alphabet;
}

uint8_t At(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

}  // namespace

std::string ByteCharacter(uint8_t byte) {
  const int code = TheAlphabet().code_of[byte];
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
}

std::optional<std::string> BytesOfCharacters(std::string_view characters) {
  std::string bytes;
  for (size_t i = 0; i < characters.size();) {
    const size_t length = Utf8Length(characters.substr(i));
    if (length < 1 || length > 2) return std::nullopt;
    const int code = length == 1 ? At(characters, i)
                                 : (At(characters, i) & 0x1f) << 6 | (At(characters, i + 1) & 0x3f);
    const auto& byte_of = TheAlphabet().byte_of;
    if (code >= static_cast<int>(byte_of.size()) || byte_of[static_cast<size_t>(code)] < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte_of[static_cast<size_t>(code)]);
    i += length;
  }
  return bytes;
}

size_t Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  const uint8_t first = At(text, 0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((At(text, i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies above U+10FFFF.
  const uint8_t second = At(text, 1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) {
    return 0;
  }
  return length;
}

std::string EscapeInvalidUtf8(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string shown;
  for (size_t i = 0; i < bytes.size();) {
    const size_t length = Utf8Length(bytes.substr(i));
    if (length == 0) {
      const uint8_t byte = At(bytes, i);
      shown.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
      ++i;
    } else {
      shown.append(bytes.substr(i, length));
      i += length;
    }
  }
  return shown;
}

}  // namespace batchvar
