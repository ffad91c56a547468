// Flags that every `batchvar execute` verb has: the two sides, the data, the executor.
#ifndef BATCHVAR_TOOLS_BATCHVAR_EXECUTE_FLAGS_H_
#define BATCHVAR_TOOLS_BATCHVAR_EXECUTE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/op_execution.h"
#include "kernels/seeded_operands.h"
#include "sim/divergence/execution.h"
#include "sim/plan/device_spec.h"
#include "tools/batchvar/exit_code.h"

namespace batchvar {

// Side b is side a but for what a --b-... flag says.
struct SideFlags {
  std::string device;
  std::string policy;
  std::optional<int64_t> sm_count;
  std::optional<int64_t> m;
  std::optional<int64_t> row;
};

struct ExecuteFlags {
  SideFlags a;
  SideFlags b;
  std::string dtype = "bf16";
  std::string data = "normal";
  std::string isa = "best";
  uint64_t seed = 1;
  int64_t rows = 16;
  int64_t threads = 1;
  bool json = false;
};

// Which of the sides' flags a verb has beyond the policy.
struct SideUse {
  bool device = true;
  bool m = true;
  bool row = true;
  const char* m_words = "Rows of the step: its tokens after padding";
};

void AddExecuteFlags(CLI::App* verb, const char* default_policy, const SideUse& use,
                     ExecuteFlags* flags);

// Fills side b from side a. Call first.
void FillSideB(ExecuteFlags* flags);

// Checks m and row of a side; `prefix` is "--" or "--b-".
absl::Status CheckRows(const SideFlags& side, const std::string& prefix);

absl::StatusOr<DataFamily> DataFamilyOf(const ExecuteFlags& flags);

// The instruction set and the threads that run the op. The pool lives as long as the result.
struct Executor {
  Isa isa = Isa::kScalar;
  std::unique_ptr<WorkerPool> pool;
  ExecutorChoice Choice() const { return {isa, pool.get()}; }
};
absl::StatusOr<Executor> ExecutorOf(const ExecuteFlags& flags);

// A fault of the float environment as an error that says what to do; OK for none.
absl::Status FaultStatus(FloatFault fault);

// Text or JSON to stdout.
void PrintExecution(const ExecuteFlags& flags, const Execution& execution,
                    const std::string& words_a, const std::string& words_b,
                    const nlohmann::ordered_json& plan_a, const nlohmann::ordered_json& plan_b);

// One verb each: execute_gemm.cc, execute_attention.cc, execute_rows.cc.
void AddExecuteGemm(CLI::App* execute, ExitCode* exit_code);
void AddExecuteAttention(CLI::App* execute, ExitCode* exit_code);
void AddExecuteNorm(CLI::App* execute, ExitCode* exit_code);
void AddExecuteAllReduce(CLI::App* execute, ExitCode* exit_code);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_EXECUTE_FLAGS_H_
