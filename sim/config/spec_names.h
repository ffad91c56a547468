// How the enums of an experiment are spelled in YAML, for reading and for printing. Policies of
// sim/plan have their names there (PolicyName), and so have their keys (policy_words.h).
#ifndef BATCHVAR_SIM_CONFIG_SPEC_NAMES_H_
#define BATCHVAR_SIM_CONFIG_SPEC_NAMES_H_

#include "sim/config/config_reader.h"
#include "sim/config/experiment_spec.h"

namespace batchvar {

inline constexpr EnumNames<DType> kDTypeNames = {{"bf16", DType::kBf16}, {"fp16", DType::kFp16}};

// In which logits are compared.
inline constexpr EnumNames<DType> kLogitTypeNames = {
    {"fp32", DType::kFp32}, {"bf16", DType::kBf16}, {"fp16", DType::kFp16}};

inline constexpr EnumNames<SchedulerPolicy> kSchedulerPolicyNames = {
    {"vllm_v1", SchedulerPolicy::kVllmV1},
    {"static", SchedulerPolicy::kStatic},
    {"orca", SchedulerPolicy::kOrca},
    {"sglang", SchedulerPolicy::kSglang},
};

inline constexpr EnumNames<SchedulePolicy> kSchedulePolicyNames = {
    {"fcfs", SchedulePolicy::kFcfs},
    {"lpm", SchedulePolicy::kLpm},
};

inline constexpr EnumNames<SglangBackend> kSglangBackendNames = {
    {"flashinfer", SglangBackend::kFlashinfer},
    {"fa3", SglangBackend::kFa3},
    {"triton", SglangBackend::kTriton},
};

inline constexpr EnumNames<QueuePriority> kQueuePriorityNames = {
    {"fcfs", QueuePriority::kFcfs},
    {"priority", QueuePriority::kPriority},
};

inline constexpr EnumNames<OutputEndsBy> kOutputEndsByNames = {
    {"eos", OutputEndsBy::kEos},
    {"length", OutputEndsBy::kLength},
};

inline constexpr EnumNames<PaddingMode> kPaddingNames = {
    {"capture", PaddingMode::kCapture},
    {"exact", PaddingMode::kExact},
};

inline constexpr EnumNames<CaptureRule> kCaptureVersionNames = {
    {"vllm_0_9_2", CaptureRule::kVllm092},     {"vllm_0_11", CaptureRule::kVllm011},
    {"vllm_0_12", CaptureRule::kVllm012},      {"vllm_0_32", CaptureRule::kVllm032},
    {"sglang_2025", CaptureRule::kSglang2025}, {"sglang_0_5_23", CaptureRule::kSglang0523},
};

inline constexpr EnumNames<ArrivalProcess> kArrivalProcessNames = {
    {"constant", ArrivalProcess::kConstant},     {"poisson", ArrivalProcess::kPoisson},
    {"gamma", ArrivalProcess::kGamma},           {"weibull", ArrivalProcess::kWeibull},
    {"all_at_once", ArrivalProcess::kAllAtOnce}, {"closed_loop", ArrivalProcess::kClosedLoop},
    {"piecewise", ArrivalProcess::kPiecewise},   {"ramp", ArrivalProcess::kRamp},
};

inline constexpr EnumNames<LengthDistribution> kLengthNames = {
    {"fixed", LengthDistribution::kFixed},   {"uniform", LengthDistribution::kUniform},
    {"normal", LengthDistribution::kNormal}, {"lognormal", LengthDistribution::kLognormal},
    {"zipf", LengthDistribution::kZipf},     {"empirical", LengthDistribution::kEmpirical},
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_SPEC_NAMES_H_
