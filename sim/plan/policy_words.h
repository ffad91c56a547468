// The words of a policy's keys `mode`, `arch`, `variant`, `layout` and `backend`. sim/config reads
// and prints them; ModeName() and its kin in policy_spec.h name them in explanations.
#ifndef BATCHVAR_SIM_PLAN_POLICY_WORDS_H_
#define BATCHVAR_SIM_PLAN_POLICY_WORDS_H_

#include "sim/base/enum_names.h"
#include "sim/plan/policy_spec.h"

namespace batchvar {

inline constexpr EnumNames<SplitKMode> kSplitKModeNames = {
    {"serial", SplitKMode::kSerial},
    {"parallel", SplitKMode::kParallel},
};

inline constexpr EnumNames<StreamKMode> kStreamKModeNames = {
    {"heuristic", StreamKMode::kHeuristic},
    {"split_k", StreamKMode::kSplitK},
    {"data_parallel", StreamKMode::kDataParallel},
    {"stream_k", StreamKMode::kStreamK},
};

inline constexpr EnumNames<DeepGemmArch> kDeepGemmArchNames = {
    {"auto", DeepGemmArch::kAuto},
    {"sm90", DeepGemmArch::kSm90},
    {"sm100", DeepGemmArch::kSm100},
};

inline constexpr EnumNames<InvariantVariant> kInvariantVariantNames = {
    {"one_tile", InvariantVariant::kOneTile},
    {"free_tile", InvariantVariant::kFreeTile},
    {"sglang", InvariantVariant::kSglang},
    {"vllm", InvariantVariant::kVllm},
};

inline constexpr EnumNames<TableLayout> kTableLayoutNames = {
    {"nt", TableLayout::kNt},
    {"tn", TableLayout::kTn},
};

inline constexpr EnumNames<NvBackend> kNvBackendNames = {
    {"generic", NvBackend::kGeneric},
    {"triton", NvBackend::kTriton},
    {"cutlass2", NvBackend::kCutlass2},
    {"cutlass3", NvBackend::kCutlass3},
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_POLICY_WORDS_H_
