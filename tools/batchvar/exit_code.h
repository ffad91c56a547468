// Every exit code of every command, in one place.
#ifndef BATCHVAR_TOOLS_BATCHVAR_EXIT_CODE_H_
#define BATCHVAR_TOOLS_BATCHVAR_EXIT_CODE_H_

#include "absl/status/status.h"

namespace batchvar {

enum class ExitCode : int {
  kDone = 0,          // an experiment that finds variance is done, too
  kGateFailed = 1,    // only where a gate was asked for
  kUsage = 2,         // usage or configuration
  kInconclusive = 3,  // only inconclusive verdicts
  kInput = 4,         // unreadable input or unreachable endpoint
  kBug = 5,           // leak or implementation bug suspected
  kInterrupted = 130,
};

inline ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return ExitCode::kDone;
    case absl::StatusCode::kFailedPrecondition: return ExitCode::kGateFailed;
    case absl::StatusCode::kInvalidArgument: return ExitCode::kUsage;
    case absl::StatusCode::kDataLoss: return ExitCode::kInput;
    case absl::StatusCode::kCancelled: return ExitCode::kInterrupted;
    default: return ExitCode::kBug;
  }
}

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_EXIT_CODE_H_
