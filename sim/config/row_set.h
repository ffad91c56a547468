// Numbers from 1 up that a sweep names, M or KV lengths: 16, a list, or a range as text, "1..256".
#ifndef BATCHVAR_SIM_CONFIG_ROW_SET_H_
#define BATCHVAR_SIM_CONFIG_ROW_SET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/config/config_node.h"

namespace batchvar {

// Ascending and without repetition. An integer, a range with both ends included, or a list of both.
absl::StatusOr<std::vector<int64_t>> ReadRowSet(const ConfigNode& node, const std::string& field);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_ROW_SET_H_
