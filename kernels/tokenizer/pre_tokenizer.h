// Cuts text into the pieces inside which byte-level BPE merges. Steps run one after another, each
// on the pieces of the one before; a step is a regular expression whose matches are pieces, and so
// is what lies between them. Uses PCRE2 with Unicode properties, as the patterns of published
// tokenizers need \p{L} and look-ahead. Used by byte_level_bpe.h.
// Source: Hugging Face tokenizers 0.23 (2026), pre_tokenizers.
//
// PCRE2 10.42 knows Unicode 14: a letter or digit that is younger than that may be cut otherwise.
// Bytes that are not UTF-8 are pieces of their own, and no match goes across them.
#ifndef BATCHVAR_KERNELS_TOKENIZER_PRE_TOKENIZER_H_
#define BATCHVAR_KERNELS_TOKENIZER_PRE_TOKENIZER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace batchvar {

// ByteLevel with use_regex: GPT-2's pattern.
extern const char* const kGpt2Pattern;

struct PreTokenizerStep {
  std::string pattern;             // empty: no cut
  bool keeps_gaps = true;          // false: what does not match is left out
  bool adds_prefix_space = false;  // before the cut, to pieces that do not begin with a blank
};

class PreTokenizer {
 public:
  PreTokenizer();  // cuts nothing
  // InvalidArgument with PCRE2's words if a pattern is not a regular expression.
  static absl::StatusOr<PreTokenizer> Make(const std::vector<PreTokenizerStep>& steps);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // Pieces in the order of the text. InvalidArgument if a pattern needs more work than PCRE2's
  // limits allow, which no published one does.
  absl::StatusOr<std::vector<std::string>> Cut(std::string_view text) const;

 private:
  struct Step;
  absl::Status CutUtf8(std::string_view text, std::vector<std::string>* pieces) const;
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_TOKENIZER_PRE_TOKENIZER_H_
