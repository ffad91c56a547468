// What several verbs ask of their flags: names, ranges, a device with another SM count. Errors name
// the flag and what it takes.
#ifndef BATCHVAR_TOOLS_BATCHVAR_FLAG_CHECKS_H_
#define BATCHVAR_TOOLS_BATCHVAR_FLAG_CHECKS_H_

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/numerics/dtype.h"
#include "sim/plan/device_spec.h"

namespace batchvar {

inline constexpr int64_t kMaxFlagSize = std::numeric_limits<int32_t>::max();

absl::Status FlagError(const std::string& flag, const std::string& message);

// From `least` to `most`.
absl::Status InRange(const std::string& flag, int64_t value, int64_t most = kMaxFlagSize,
                     int64_t least = 1);

// `name` is none of `known`: says so, with the nearest one.
absl::Status UnknownName(const std::string& flag, const std::string& name,
                         const std::vector<std::string>& known);

// bf16 or fp16.
absl::StatusOr<DType> DTypeNamed(const std::string& name);

// A device by name or file, with `sm_count` SMs where that is given.
absl::StatusOr<DeviceSpec> DeviceNamed(const std::string& name, std::optional<int64_t> sm_count);

// One line of JSON; text that is no UTF-8 is replaced.
std::string JsonLine(const nlohmann::ordered_json& json);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_FLAG_CHECKS_H_
