// Lists of numbers as flags give them: "1..256", "1,2,4,8", "1..16,24,32".
#ifndef BATCHVAR_TOOLS_BATCHVAR_M_LIST_H_
#define BATCHVAR_TOOLS_BATCHVAR_M_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace batchvar {

// Ascending and distinct, whatever the order in the text. Numbers from 1 to 2^31 - 1, at most
// `max_count` of them. `flag` is named in errors.
absl::StatusOr<std::vector<int64_t>> ParseMList(const std::string& flag, const std::string& text,
                                                int64_t max_count);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_M_LIST_H_
