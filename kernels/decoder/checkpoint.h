// The weights of a Hugging Face model folder by tensor name: model.safetensors, or the shards that
// model.safetensors.index.json lists. Whoever loads a model says which shape it expects, and gets
// finite numbers or one error that names file and tensor. Used by decoder_weights.h and
// float_decoder.h.
#ifndef BATCHVAR_KERNELS_DECODER_CHECKPOINT_H_
#define BATCHVAR_KERNELS_DECODER_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/decoder/safetensors_file.h"
#include "sim/numerics/dtype.h"

namespace batchvar {

// The shape is {rows, columns}, or {rows} where columns is 0.
struct TensorShape {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t NumElements() const { return columns == 0 ? rows : rows * columns; }
};

class Checkpoint {
 public:
  // All faults of the folder's files are InputErrors. As in Transformers, a single file is
  // preferred to an index.
  static absl::StatusOr<Checkpoint> Open(const std::string& folder);

  // The tensor's numbers, appended to what is there. An InputError if it is missing, has another
  // shape, a type other than BF16, F16 and F32, or a NaN or infinity.
  absl::Status Append(const std::string& name, const TensorShape& shape,
                      std::vector<float>* values) const;
  // The same, rounded to `dtype` (bf16 or fp16), nearest-even.
  absl::Status AppendWords(const std::string& name, const TensorShape& shape, DType dtype,
                           std::vector<uint16_t>* words) const;

  // The first name that begins with `prefix`, or "".
  std::string FirstWithPrefix(const std::string& prefix) const;
  // model.safetensors or the index: the file that says which tensors there are.
  const std::string& path() const { return path_; }

 private:
  absl::Status ReadIndex(const std::string& folder);
  // The tensor in the shape that was asked for, in a type that can be a weight.
  absl::StatusOr<const TensorView*> Find(const std::string& name, const TensorShape& shape) const;
  const std::string& FileOf(const std::string& name) const;

  std::string path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, int64_t> file_of_;  // of every tensor, index into files_
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_DECODER_CHECKPOINT_H_
