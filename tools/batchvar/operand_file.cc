#include "tools/batchvar/operand_file.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "sim/status/located_error.h"

namespace batchvar {

absl::StatusOr<std::vector<uint16_t>> ReadOperandFile(const std::string& path, int64_t width) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return InputError({.file = path}, error.message());
  const auto row_bytes = static_cast<uintmax_t>(2 * width);
  if (size == 0 || size % row_bytes != 0) {
    return InputError({.file = path},
                      absl::StrCat("has ", size, " bytes; rows of ", width,
                                   " 16-bit words take a whole multiple of ", row_bytes));
  }
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    return InputError({.file = path}, "cannot be read");
  }
  std::vector<uint16_t> words(size / 2);
  for (size_t i = 0; i < words.size(); ++i) {
    const auto low = static_cast<uint8_t>(bytes[2 * i]);
    const auto high = static_cast<uint8_t>(bytes[2 * i + 1]);
    words[i] = static_cast<uint16_t>(low | high << 8);
  }
  return words;
}

}  // namespace batchvar
