// Decompositions that come from elsewhere: what a library or a device answered for (device, type,
// M, N, K). Tables are plain values, read by sim/io/gemm_table.h; sim/io/nv_heuristics.h asks a
// library instead. The policy over both is gemm_table_policy.h. A key without an answer stays
// unanswered.
#ifndef BATCHVAR_SIM_PLAN_GEMM_TABLE_H_
#define BATCHVAR_SIM_PLAN_GEMM_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/plan/plan.h"

namespace batchvar {

struct GemmTableRow {
  Tile tile;  // 0 x 0 x 0: the table does not say it
  int32_t split_k = 1;
  int32_t slice_k = 1;  // warps that share each K tile
  int32_t instr_k = 0;  // products of one instruction; 0: the table does not say it
  Combine combine = Combine::kSerialFp32;  // of the pieces of a split
  DType partial = DType::kFp32;
  int32_t sm_count = 0;  // of the device asked; 0: the table does not say it
  std::string shown;     // the other columns, "stages=5 grid_swizzle=1", for explanations
};

// Whoever has the answers. All of it may be called from several threads at once.
class GemmLookup {
 public:
  virtual ~GemmLookup() = default;
  // Null without an answer. A row never changes and lives as long as this object. Upper and lower
  // case of `gpu` are the same.
  virtual const GemmTableRow* Find(std::string_view gpu, const GemmShape& shape) const = 0;
  // Why Find() is null, as the end of a sentence that begins with the file's name, for the user.
  virtual std::string WhyMissing(std::string_view gpu, const GemmShape& shape) const = 0;
  virtual const PolicySource& source() const = 0;
};

class GemmTable final : public GemmLookup {
 public:
  explicit GemmTable(PolicySource source) : source_(std::move(source)) {}

  // False, and nothing is changed, when the key has a row already. `gpu` is taken as it is.
  bool Add(std::string_view gpu, const GemmShape& shape, GemmTableRow row);
  const GemmTableRow* Find(std::string_view gpu, const GemmShape& shape) const override;
  std::string WhyMissing(std::string_view gpu, const GemmShape& shape) const override;
  const PolicySource& source() const override { return source_; }

  size_t size() const { return rows_.size(); }

 private:
  using Key = std::tuple<size_t, DType, int64_t, int64_t, int64_t>;  // gpu's index, N, K, M
  size_t IndexOf(std::string_view gpu) const;                        // gpus_.size() when unknown

  PolicySource source_;
  std::vector<std::string> gpus_;  // in order of appearance
  std::map<Key, GemmTableRow> rows_;
};

// vLLM's tuned batch-invariant kernels: one BLOCK_K for each (architecture, N, K).
class BlockKTable {
 public:
  // False when the key is there already.
  bool Add(std::string_view arch, int64_t n, int64_t k, int32_t block_k);
  // 0 when the table has no row: vLLM then uses its default.
  int32_t Find(int32_t compute_capability, int64_t n, int64_t k) const;
  size_t size() const { return rows_.size(); }

 private:
  std::map<std::tuple<std::string, int64_t, int64_t>, int32_t, std::less<>> rows_;
};

// "gpu h100_sxm, bf16, M 2, N 4096, K 640", for messages.
std::string GemmKeyWords(std::string_view gpu, const GemmShape& shape);
// Device names are the same in upper and lower case.
bool SameGpuName(std::string_view a, std::string_view b);

// The name of the device's architecture in such a table: "ampere", "ada", "hopper", "blackwell",
// "sm120"; "" for others.
const char* ArchitectureName(int32_t compute_capability);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_GEMM_TABLE_H_
