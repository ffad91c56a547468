// Result files: written under another name first, so that a file that is there is whole.
#ifndef BATCHVAR_TOOLS_BATCHVAR_RESULT_FILE_H_
#define BATCHVAR_TOOLS_BATCHVAR_RESULT_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace batchvar {

absl::Status WriteResultFile(const std::string& path, const std::string& text);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_RESULT_FILE_H_
