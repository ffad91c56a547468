// Operands given as files: raw little-endian 16-bit words, row after row, nothing else.
#ifndef BATCHVAR_TOOLS_BATCHVAR_OPERAND_FILE_H_
#define BATCHVAR_TOOLS_BATCHVAR_OPERAND_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace batchvar {

// All rows of `width` words. Missing, empty and cut-off files are errors that say how many bytes
// there are.
absl::StatusOr<std::vector<uint16_t>> ReadOperandFile(const std::string& path, int64_t width);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_OPERAND_FILE_H_
