#include "sim/io/text_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sim/base/digest.h"
#include "sim/status/located_error.h"
#include "tests/io/temp_file.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::vector<std::pair<int, std::string>> LinesOf(std::string_view bytes) {
  const TempFile file(bytes);
  absl::StatusOr<TextSource> source = TextSource::Open(file.path());
  EXPECT_TRUE(source.ok());
  std::vector<std::pair<int, std::string>> lines;
  std::string_view line;
  while (source.ok() && source->NextLine(&line)) {
    lines.emplace_back(source->line_number(), std::string(line));
  }
  return lines;
}

std::string ErrorOf(const std::string& path) {
  const absl::StatusOr<TextSource> source = TextSource::Open(path);
  EXPECT_EQ(source.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LocationOf(source.status()).file, path);
  return std::string(source.status().message());
}

TEST(TextSource, GivesLinesWithTheirNumbers) {
  EXPECT_THAT(LinesOf("a\nb\n"), ElementsAre(Pair(1, "a"), Pair(2, "b")));
  EXPECT_THAT(LinesOf("a\r\nb"), ElementsAre(Pair(1, "a"), Pair(2, "b")));
  EXPECT_THAT(LinesOf("\xef\xbb\xbf"
                      "a\n"),
              ElementsAre(Pair(1, "a")));
  EXPECT_THAT(LinesOf("\n \t\r\na\n\n\nb\n\n"), ElementsAre(Pair(3, "a"), Pair(6, "b")));
  EXPECT_THAT(LinesOf(""), ElementsAre());
  EXPECT_THAT(LinesOf("\n\n"), ElementsAre());
  EXPECT_THAT(LinesOf(" a \n"), ElementsAre(Pair(1, " a ")));
}

TEST(TextSource, UnpacksGzipWhateverTheName) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + '\n';  // longer than one chunk
  const std::string packed = Gzip(text);
  for (const char* ending : {".gz", ".jsonl"}) {
    const TempFile file(packed, ending);
    absl::StatusOr<TextSource> source = TextSource::Open(file.path());
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ(source->sha256(), Sha256Hex(packed));  // of the file as stored
    std::string_view line;
    std::string read;
    while (source->NextLine(&line)) read += std::string(line) + '\n';
    EXPECT_EQ(read, text);
  }
}

TEST(TextSource, UnpacksSeveralMembers) {
  EXPECT_THAT(LinesOf(Gzip("a\nb") + Gzip("c\n")), ElementsAre(Pair(1, "a"), Pair(2, "bc")));
  EXPECT_THAT(LinesOf(Gzip("")), ElementsAre());
}

TEST(TextSource, RefusesDamagedGzip) {
  const std::string packed = Gzip("a line that is long enough to be packed, packed, packed\n");
  std::string flipped = packed;
  flipped[packed.size() - 6] = static_cast<char>(flipped[packed.size() - 6] ^ 1);  // checksum
  for (const std::string& bytes :
       {packed.substr(0, packed.size() - 1), packed.substr(0, 5), flipped, packed + "rest",
        std::string("plain text\n"), std::string()}) {
    const TempFile file(bytes, ".gz");
    EXPECT_THAT(ErrorOf(file.path()), HasSubstr("damaged or cut gzip data"));
  }
}

TEST(TextSource, NamesWhatCannotBeRead) {
  const std::string missing = testing::TempDir() + "batchvar_no_such_file";
  EXPECT_THAT(ErrorOf(missing), HasSubstr("batchvar_no_such_file: cannot read: No such file"));
  EXPECT_THAT(ErrorOf(testing::TempDir()), HasSubstr("is a directory"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("empty"));
  const TempFile utf16(
      std::string_view("\xff\xfe"
                       "a\0\n\0",
                       6));
  EXPECT_THAT(ErrorOf(utf16.path()), HasSubstr("UTF-16"));
}

}  // namespace
}  // namespace batchvar
