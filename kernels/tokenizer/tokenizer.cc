#include "kernels/tokenizer/tokenizer.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "kernels/tokenizer/llama2c_tokenizer.h"
#include "kernels/tokenizer/tokenizer_json.h"
#include "sim/status/located_error.h"

namespace batchvar {

std::string Tokenizer::Decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += TokenBytes(id);
  return text;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || bytes.empty()) {
    const std::string why = file ? "is empty" : std::strerror(errno);
    return InputError({.file = path}, absl::StrCat("cannot be read as a tokenizer: ", why,
                                                   "; give a tokenizer.json or a llama2.c table"));
  }
  if (bytes.front() == '{') return ReadTokenizerJson(path, bytes);
  return ReadLlama2cTokenizer(path, bytes);
}

}  // namespace batchvar
