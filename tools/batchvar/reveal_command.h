// What the verbs of `batchvar reveal` share.
#ifndef BATCHVAR_TOOLS_BATCHVAR_REVEAL_COMMAND_H_
#define BATCHVAR_TOOLS_BATCHVAR_REVEAL_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>

#include "absl/status/status.h"
#include "sim/report/tree_report.h"
#include "tools/batchvar/exit_code.h"

namespace batchvar {

// Zero terms between those that are probed take time, too.
inline constexpr int64_t kMaxTerms = int64_t{1} << 20;

void AddLeavesFlag(CLI::App* verb, int64_t* leaves);
absl::Status CheckLeaves(int64_t leaves);

// Prints the report. An error with exit code 5 where `must_match` and a tree is not its plan's.
absl::Status PrintTrees(const TreeReport& report, bool json, bool must_match);

// reveal_gemm.cc
void AddRevealGemm(CLI::App* reveal, ExitCode* exit_code);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_REVEAL_COMMAND_H_
