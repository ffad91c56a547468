#include "tools/batchvar/flag_checks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/config/load_experiment.h"
#include "sim/status/located_error.h"

namespace batchvar {

absl::Status FlagError(const std::string& flag, const std::string& message) {
  Location where;
  where.field = flag;
  return ConfigError(where, message);
}

absl::Status InRange(const std::string& flag, int64_t value, int64_t most, int64_t least) {
  if (value >= least && value <= most) return absl::OkStatus();
  return FlagError(flag, absl::StrCat("must be from ", least, " to ", most, ", not ", value));
}

absl::Status UnknownName(const std::string& flag, const std::string& name,
                         const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  return FlagError(flag, absl::StrCat("'", name, "' is not one of ", absl::StrJoin(known, ", "),
                                      nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

absl::StatusOr<DType> DTypeNamed(const std::string& name) {
  std::vector<std::string> known;
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    if (name == DTypeName(dtype)) return dtype;
    known.emplace_back(DTypeName(dtype));
  }
  return UnknownName("--dtype", name, known);
}

absl::StatusOr<DeviceSpec> DeviceNamed(const std::string& name, std::optional<int64_t> sm_count) {
  absl::StatusOr<DeviceSpec> device = LoadDevice(name);
  if (device.ok() && sm_count.has_value()) {
    if (absl::Status status = InRange("--sm-count", *sm_count); !status.ok()) return status;
    device->sm_count = static_cast<int32_t>(*sm_count);
  }
  return device;
}

std::string JsonLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace batchvar
