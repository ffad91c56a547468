// Reads the tables of the `table` policy, and vLLM's BLOCK_K table, from CSV files, plain or gzip.
// The form is told by the header (docs/policies.md):
//
//   heuristics  gpu,precision,N,K,M,cta_m,cta_n,cta_k,warp_k,instr_k,split_k and more: what
//               nvMatmulHeuristics answers. precision HSH is FP16, TST is BF16.
//   capture     library,version,gpu,sm_count,m,n,k,dtype,split_k,reduction_scheme and more: what
//               cuBLASLt answered on a device
//
// Columns are found by name; those without a meaning here are kept for explanations.
#ifndef BATCHVAR_SIM_IO_GEMM_TABLE_H_
#define BATCHVAR_SIM_IO_GEMM_TABLE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/plan/gemm_table.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

// `layout` and `slice_k` as in GemmPolicySpec; they concern the heuristics form only.
absl::StatusOr<std::shared_ptr<const GemmTable>> ReadGemmTable(const std::string& path,
                                                               TableLayout layout, bool slice_k);

// Columns arch,N,K,block_k.
absl::StatusOr<std::shared_ptr<const BlockKTable>> ReadBlockKTable(const std::string& path);

// Reads the files and opens the library that the policy names, also those of the policy that a gemv
// hands on to. Call it before MakeGemmPolicy().
absl::Status LoadGemmTables(GemmPolicySpec* spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_GEMM_TABLE_H_
