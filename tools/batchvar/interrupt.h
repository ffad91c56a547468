// SIGINT and SIGTERM set a flag; the run ends at its next step and leaves a partial, marked result.
#ifndef BATCHVAR_TOOLS_BATCHVAR_INTERRUPT_H_
#define BATCHVAR_TOOLS_BATCHVAR_INTERRUPT_H_

namespace batchvar {

// From now on the signals only set the flag. A second SIGINT ends the process at once.
void WatchInterrupts();
bool Interrupted();

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_INTERRUPT_H_
