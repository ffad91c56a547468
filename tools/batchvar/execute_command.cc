// `batchvar execute gemm|attention|norm|allreduce`: one op under two plans on the same data.
#include "tools/batchvar/commands.h"
#include "tools/batchvar/execute_flags.h"

namespace batchvar {

void AddExecuteCommand(CLI::App* app, ExitCode* exit_code) {
  CLI::App* execute =
      app->add_subcommand("execute", "One op under two plans on the same data: which bits differ");
  execute->require_subcommand(1);
  AddExecuteGemm(execute, exit_code);
  AddExecuteAttention(execute, exit_code);
  AddExecuteNorm(execute, exit_code);
  AddExecuteAllReduce(execute, exit_code);
}

}  // namespace batchvar
