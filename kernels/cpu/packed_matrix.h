// Weights of a linear layer, packed once into panels of 32 columns that stay 16 bits wide: what a
// decode step reads from memory is 2 bytes a weight. Both vector instruction sets read the same
// panels (gemm_kernel.h says how a row lies). Owned memory or a mapped file; immutable, so any
// number of threads may read one. Made when a model is loaded; read by ExecuteGemm.
//
// Columns that fill up the last panel repeat the last real column: they never leave the exact
// range where that one does not, and nobody reads their sums.
#ifndef BATCHVAR_KERNELS_CPU_PACKED_MATRIX_H_
#define BATCHVAR_KERNELS_CPU_PACKED_MATRIX_H_

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cpu/gemm_kernel.h"
#include "sim/numerics/dtype.h"

namespace batchvar {

class PackedMatrix {
 public:
  PackedMatrix() = default;

  // `weights` is [n][k], row-major, as in y = x W^T and in Hugging Face files; read once, from any
  // memory. `dtype` is bf16 or fp16; n, k >= 1.
  static PackedMatrix Pack(const uint16_t* weights, int64_t n, int64_t k, DType dtype);

  // Writes the panels to `path`, to be mapped later by the same build's format version. "" or what
  // went wrong.
  std::string Save(const std::string& path) const;

  // Maps a file that Save wrote. "" or what is wrong with it; *matrix is then left alone. The
  // header and the flags are always checked, the weights (which reads all of them) only if
  // `check_weights`.
  static std::string Map(const std::string& path, bool check_weights, PackedMatrix* matrix);

  int64_t n() const { return n_; }
  int64_t k() const { return k_; }
  DType dtype() const { return dtype_; }
  int64_t num_panels() const { return (n_ + kPanelColumns - 1) / kPanelColumns; }
  int64_t PanelWords() const { return (k_ + kPanelPadRows) * kPanelColumns; }  // of each panel
  const uint16_t* Panel(int64_t panel) const { return words_ + panel * PanelWords(); }
  // Whether a panel holds an infinity or a NaN: then only the scalar reference may sum it.
  bool HasSpecials(int64_t panel) const { return flags_[panel] != 0; }

 private:
  static PackedMatrix Allocate(int64_t n, int64_t k, DType dtype);
  void PackPanel(const uint16_t* weights, int64_t panel, uint16_t* words, uint8_t* flag) const;

  int64_t n_ = 0;
  int64_t k_ = 0;
  DType dtype_ = DType::kBf16;
  std::shared_ptr<const void> memory_;  // keeps what the next two point into
  const uint8_t* flags_ = nullptr;      // [num_panels]
  const uint16_t* words_ = nullptr;     // [num_panels][k + kPanelPadRows][32], 64-byte aligned
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_PACKED_MATRIX_H_
