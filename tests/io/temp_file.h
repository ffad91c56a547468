// A small input file for one test, removed with the object.
#ifndef BATCHVAR_TESTS_IO_TEMP_FILE_H_
#define BATCHVAR_TESTS_IO_TEMP_FILE_H_

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

namespace batchvar {

class TempFile {
 public:
  explicit TempFile(std::string_view bytes, const std::string& ending = ".txt")
      : path_(testing::TempDir() + "batchvar_" + std::to_string(getpid()) + "_" +
              std::to_string(++made) + ending) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  ~TempFile() { std::remove(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  static inline int made = 0;
  std::string path_;
};

// One gzip member.
inline std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace batchvar

#endif  // BATCHVAR_TESTS_IO_TEMP_FILE_H_
