// Keys or values of one block of KV positions, laid out as the panels that the GEMM kernels read
// (gemm_kernel.h). Made afresh for every block that attention visits, and shared by all query rows
// that visit it. Used by attention.cc only.
#ifndef BATCHVAR_KERNELS_CPU_KV_PANELS_H_
#define BATCHVAR_KERNELS_CPU_KV_PANELS_H_

#include <cstdint>
#include <vector>

#include "kernels/cpu/gemm_kernel.h"
#include "sim/numerics/dtype.h"
#include "sim/numerics/ordered_attention.h"

namespace batchvar {

class KvPanels {
 public:
  // Keys of the positions `block`: columns are positions, summed over head_dim.
  void PackKeys(const AttentionOperands& x, const Range& block);
  // Their values: columns are elements of the head, summed over positions.
  void PackValues(const AttentionOperands& x, const Range& block);

  int64_t num_panels() const { return (columns_ + kPanelColumns - 1) / kPanelColumns; }
  int64_t summed() const { return summed_; }
  int64_t PaddedColumns() const { return num_panels() * kPanelColumns; }
  const uint16_t* Panel(int64_t panel) const {
    return words_.data() + panel * (summed_ + kPanelPadRows) * kPanelColumns;
  }
  // Infinities or NaNs somewhere: only the scalar reference may sum them.
  bool has_specials() const { return has_specials_; }

 private:
  void Begin(int64_t columns, int64_t summed);
  uint16_t* Row(int64_t panel, int64_t k) {
    return words_.data() + (panel * (summed_ + kPanelPadRows) + k) * kPanelColumns;
  }

  int64_t columns_ = 0;
  int64_t summed_ = 0;
  bool has_specials_ = false;
  std::vector<uint16_t> words_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_KV_PANELS_H_
