// Errors that a user can act on: an absl::Status whose message begins with file:line:column, and
// which carries those places for --json. The code decides the exit code
// (tools/batchvar/exit_code.h):
//   kFailedPrecondition  a gate that was asked for failed       -> 1
//   kInvalidArgument     usage or configuration                 -> 2
//   kDataLoss            unreadable or malformed input          -> 4
//   kCancelled           interrupted                            -> 130
// Anything else is our own mistake.
#ifndef BATCHVAR_SIM_STATUS_LOCATED_ERROR_H_
#define BATCHVAR_SIM_STATUS_LOCATED_ERROR_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace batchvar {

// Keys that do not apply stay empty or 0 and are left out of messages and JSON.
struct Location {
  std::string file = {};
  int line = 0;    // from 1
  int column = 0;  // from 1
  std::string field = {};
};

// "file:line:column: field: message"
absl::Status ConfigError(const Location& where, std::string_view message);
absl::Status InputError(const Location& where, std::string_view message);

// A ConfigError about a key that exists nowhere, whatever its value. A sweep does not start with
// one, where any other mistake in a cell leaves the other cells alone.
absl::Status UnknownKeyError(const Location& where, std::string_view message);
bool IsUnknownKeyError(const absl::Status& status);

// The place that an error of this file carries; empty for any other status.
Location LocationOf(const absl::Status& status);

// The candidate nearest to `word` by edit distance, if it is near enough to be a typing error;
// else "". For "did you mean".
std::string NearestName(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_STATUS_LOCATED_ERROR_H_
