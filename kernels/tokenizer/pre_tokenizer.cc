#include "kernels/tokenizer/pre_tokenizer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/tokenizer/byte_alphabet.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace batchvar {

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

std::string Pcre2Message(int error) {
  unsigned char text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDeleter {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

}  // namespace

struct PreTokenizer::Step {
  PreTokenizerStep rule;
  std::unique_ptr<pcre2_code, CodeDeleter> code;  // null: no cut

  absl::Status Compile() {
    if (rule.pattern.empty()) return absl::OkStatus();
    int error = 0;
    size_t at = 0;
    code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rule.pattern.data()), rule.pattern.size(),
                             PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
    if (code != nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "is not a regular expression that PCRE2 reads: ", Pcre2Message(error), " at offset ", at));
  }

  // `text` is well-formed UTF-8.
  absl::Status Cut(std::string text, std::vector<std::string>* pieces) const {
    if (rule.adds_prefix_space && !text.empty() && text.front() != ' ') text.insert(0, 1, ' ');
    if (code == nullptr) {
      if (!text.empty()) pieces->push_back(std::move(text));
      return absl::OkStatus();
    }
    const std::unique_ptr<pcre2_match_data, MatchDeleter> match(
        pcre2_match_data_create_from_pattern(code.get(), nullptr));
    size_t done = 0;
    const auto gap = [&](size_t end) {
      if (end > done && rule.keeps_gaps) pieces->push_back(text.substr(done, end - done));
    };
    for (size_t from = 0; from <= text.size();) {
      const int found =
          pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                      PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, match.get(), nullptr);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the pre-tokenizer's pattern failed on the text: ", Pcre2Message(found)));
      }
      const size_t* edges = pcre2_get_ovector_pointer(match.get());
      gap(edges[0]);
      pieces->push_back(text.substr(edges[0], edges[1] - edges[0]));
      done = from = edges[1];
    }
    gap(text.size());
    return absl::OkStatus();
  }
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

absl::StatusOr<PreTokenizer> PreTokenizer::Make(const std::vector<PreTokenizerStep>& steps) {
  PreTokenizer made;
  for (const PreTokenizerStep& rule : steps) {
    auto step = std::make_unique<Step>();
    step->rule = rule;
    if (absl::Status status = step->Compile(); !status.ok()) return status;
    made.steps_.push_back(std::move(step));
  }
  return made;
}

absl::Status PreTokenizer::CutUtf8(std::string_view text, std::vector<std::string>* pieces) const {
  std::vector<std::string> coarse = {std::string(text)};
  for (const auto& step : steps_) {
    std::vector<std::string> finer;
    for (std::string& piece : coarse) {
      if (absl::Status status = step->Cut(std::move(piece), &finer); !status.ok()) return status;
    }
    coarse = std::move(finer);
  }
  for (std::string& piece : coarse) pieces->push_back(std::move(piece));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> PreTokenizer::Cut(std::string_view text) const {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    size_t valid = 0;
    while (const size_t length = Utf8Length(text.substr(valid))) valid += length;
    if (valid > 0) {
      if (absl::Status s = CutUtf8(text.substr(0, valid), &pieces); !s.ok()) return s;
      text.remove_prefix(valid);
    }
    size_t invalid = 0;
    while (invalid < text.size() && Utf8Length(text.substr(invalid)) == 0) ++invalid;
    if (invalid > 0) pieces.emplace_back(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
  return pieces;
}

}  // namespace batchvar
