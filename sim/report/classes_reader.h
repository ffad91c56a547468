// What classes_json.h writes, read back as the baseline of a comparison.
#ifndef BATCHVAR_SIM_REPORT_CLASSES_READER_H_
#define BATCHVAR_SIM_REPORT_CLASSES_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sim/replay/class_table.h"

namespace batchvar {

// Most M that a table holds.
constexpr int64_t kMaxClassValues = 65536;

// Checks all that it reads: every M stands in exactly one class of every op. `name` is the file's,
// for messages. Keys that it does not know are left alone.
absl::StatusOr<ClassTable> ReadClassesJson(const std::string& text, const std::string& name);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_CLASSES_READER_H_
