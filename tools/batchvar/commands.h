// One function per verb: adds the verb to the command line and, when it was chosen, leaves its exit
// code in *exit_code. A verb wires rooms together and decides nothing itself.
#ifndef BATCHVAR_TOOLS_BATCHVAR_COMMANDS_H_
#define BATCHVAR_TOOLS_BATCHVAR_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "tools/batchvar/exit_code.h"

namespace batchvar {

void AddSimulateCommand(CLI::App* app, ExitCode* exit_code);
void AddExplainCommand(CLI::App* app, ExitCode* exit_code);
void AddPlanCommand(CLI::App* app, ExitCode* exit_code);
void AddClassesCommand(CLI::App* app, ExitCode* exit_code);
void AddExecuteCommand(CLI::App* app, ExitCode* exit_code);
void AddExperimentCommand(CLI::App* app, ExitCode* exit_code);
void AddHazardCommand(CLI::App* app, ExitCode* exit_code);
void AddTraceCommand(CLI::App* app, ExitCode* exit_code);
void AddSweepCommand(CLI::App* app, ExitCode* exit_code);
void AddConfigCommand(CLI::App* app, ExitCode* exit_code);
void AddRevealCommand(CLI::App* app, ExitCode* exit_code);

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_COMMANDS_H_
