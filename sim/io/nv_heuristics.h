// What nvMatmulHeuristics answers for a GEMM, as the answers of the policy nv_heuristics
// (docs/policies.md). Opened by LoadGemmTables() where a policy names a library, and never else.
//
// Every (GPU, type, M, N, K) is asked once and kept: the library takes a fraction of a millisecond
// to some milliseconds an answer. All policies of a process with equal keys share what was asked,
// so the cells of a sweep do not ask again.
#ifndef BATCHVAR_SIM_IO_NV_HEURISTICS_H_
#define BATCHVAR_SIM_IO_NV_HEURISTICS_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/plan/gemm_table.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

// A GPU that the library can be asked about. It takes any number without complaint, so this list,
// after its interface of version 0.1, is what keeps a wrong one out.
struct NvGpu {
  const char* name;
  int32_t number;    // in the library's interface
  int32_t sm_count;  // of the GPU on sale; 0: several are, or it is not known
  const char* also;  // the name of the same device in configs/devices where it differs, or ""
};
const std::vector<NvGpu>& NvGpus();

// library, gpu, backend, layout, auto_tune and candidates of `spec` count. A ConfigError for a
// `gpu` that the library does not have; an InputError for a file that is not the library.
absl::StatusOr<std::shared_ptr<const GemmLookup>> OpenNvHeuristics(const GemmPolicySpec& spec);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_NV_HEURISTICS_H_
