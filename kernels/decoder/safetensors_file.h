// One safetensors file, mapped into memory: 8 bytes of header length, a JSON header, the tensors'
// bytes one after another (huggingface/safetensors, README "Format", 0.8, 2026). Everything that
// the header claims is checked against the file when it is opened, so a view never leaves it.
// Used by checkpoint.h.
#ifndef BATCHVAR_KERNELS_DECODER_SAFETENSORS_FILE_H_
#define BATCHVAR_KERNELS_DECODER_SAFETENSORS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace batchvar {

// A tensor as the file has it; the bytes live as long as the SafetensorsFile.
struct TensorView {
  std::string dtype;  // the header's word: "BF16", "F16", "F32", ...
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // little-endian, row-major, not aligned
};

// Whether an error may show the name as it is, on one line: printable ASCII.
bool IsPrintable(const std::string& name);

class SafetensorsFile {
 public:
  // A file that is missing, cut off, or whose header contradicts itself or the file's size is an
  // InputError that names the file and, where one is at fault, the tensor.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const TensorView* Find(const std::string& name) const;  // null if there is none

 private:
  absl::Status Map();
  absl::Status ReadHeader();

  std::string path_;
  std::shared_ptr<const std::byte> memory_;  // unmaps itself
  size_t size_ = 0;
  std::map<std::string, TensorView> tensors_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_SAFETENSORS_FILE_H_
