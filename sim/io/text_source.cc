#include "sim/io/text_source.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "sim/base/digest.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
constexpr size_t kChunkBytes = size_t{1} << 18;

absl::Status CannotRead(const std::string& path, int error) {
  return InputError({path, 0, 0, ""}, std::string("cannot read: ") + std::strerror(error));
}

absl::StatusOr<std::string> ReadBytes(const std::string& path) {
  if (path.empty()) return InputError({}, "the path of the file is empty");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return InputError({path, 0, 0, ""}, "is a directory, not a file");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) return CannotRead(path, errno);
  std::string bytes;
  size_t got = 0;
  do {
    const size_t before = bytes.size();
    bytes.resize(before + kChunkBytes);
    got = std::fread(bytes.data() + before, 1, kChunkBytes, file.get());
    bytes.resize(before + got);
  } while (got > 0);
  if (std::ferror(file.get()) != 0) return CannotRead(path, errno);
  return bytes;
}

// Unpacks one gzip member from the front of *packed. False if it is damaged or cut.
bool UnpackMember(std::string_view* packed, std::string* text) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) return false;  // + 16: gzip, not zlib
  int result = Z_OK;
  while (result == Z_OK) {
    // zlib never writes to its input, it only lacks the const. avail_in is 32 bits wide.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed->data()));
    const size_t offered = std::min(packed->size(), size_t{1} << 30);
    stream.avail_in = static_cast<uInt>(offered);
    const size_t before = text->size();
    text->resize(before + kChunkBytes);
    stream.next_out = reinterpret_cast<Bytef*>(text->data() + before);
    stream.avail_out = static_cast<uInt>(kChunkBytes);
    result = inflate(&stream, Z_NO_FLUSH);
    text->resize(before + kChunkBytes - stream.avail_out);
    packed->remove_prefix(offered - stream.avail_in);
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END;  // a cut member ends with Z_BUF_ERROR
}

// A gzip file may hold several members one after the other.
absl::StatusOr<std::string> Unpack(const std::string& path, std::string_view packed) {
  std::string text;
  do {
    if (!packed.starts_with(kGzipMagic) || !UnpackMember(&packed, &text)) {
      return InputError({path, 0, 0, ""}, "damaged or cut gzip data");
    }
  } while (!packed.empty());
  return text;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<TextSource> TextSource::Open(const std::string& path) {
  absl::StatusOr<std::string> text = ReadBytes(path);
  if (!text.ok()) return text.status();
  std::string sha256 = Sha256Hex(*text);
  if (text->starts_with(kGzipMagic) || path.ends_with(".gz")) {
    text = Unpack(path, *text);
    if (!text.ok()) return text.status();
  }
  if (text->starts_with("\xff\xfe") || text->starts_with("\xfe\xff")) {
    return InputError({path, 0, 0, ""}, "is UTF-16 text; save it as UTF-8");
  }
  TextSource source(path, *std::move(text), std::move(sha256));
  if (source.text_.starts_with(kUtf8Mark)) source.next_ = kUtf8Mark.size();
  return source;
}

bool TextSource::NextLine(std::string_view* line) {
  const std::string_view text = text_;
  while (next_ < text.size()) {
    const size_t end = std::min(text.find('\n', next_), text.size());
    *line = text.substr(next_, end - next_);
    next_ = end + 1;
    ++line_number_;
    if (line->ends_with('\r')) line->remove_suffix(1);
    if (!IsBlank(*line)) return true;
  }
  return false;
}

}  // namespace batchvar
