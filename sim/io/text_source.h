// A text file held in memory and handed out line by line, with line numbers for messages.
// Knows about gzip, byte order marks, line ends and blank lines, so that no format has to.
// Used by the trace formats (trace_format.h).
#ifndef BATCHVAR_SIM_IO_TEXT_SOURCE_H_
#define BATCHVAR_SIM_IO_TEXT_SOURCE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace batchvar {

class TextSource {
 public:
  // Reads the whole file once, so a pipe works too. Gzip data is unpacked, whatever the file's
  // name. `path` names the file in messages exactly as it is given here.
  static absl::StatusOr<TextSource> Open(const std::string& path);

  // The next line that holds more than white space, without its line end. False at the end.
  // The view stays good as long as this object is neither moved nor destroyed.
  bool NextLine(std::string_view* line);

  int line_number() const { return line_number_; }  // of the line that NextLine gave, from 1
  const std::string& path() const { return path_; }
  const std::string& sha256() const { return sha256_; }  // of the file as stored

 private:
  TextSource(std::string path, std::string text, std::string sha256)
      : path_(std::move(path)), text_(std::move(text)), sha256_(std::move(sha256)) {}

  std::string path_;
  std::string text_;
  std::string sha256_;
  size_t next_ = 0;  // offset of the first byte not handed out
  int line_number_ = 0;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_TEXT_SOURCE_H_
