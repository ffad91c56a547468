// The one file that writes to the terminal. Data goes to stdout, everything else to stderr.
#ifndef BATCHVAR_TOOLS_BATCHVAR_TERMINAL_H_
#define BATCHVAR_TOOLS_BATCHVAR_TERMINAL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/batchvar/exit_code.h"

namespace batchvar {

// Results. Exits with kInput when stdout cannot be written (a full disk), so that no half result
// passes for a whole one.
void PrintData(std::string_view text);

// "batchvar: MESSAGE" on stderr, or the error object of docs/formats.md when `json`. Returns the
// exit code that belongs to the status.
ExitCode ReportError(const absl::Status& status, bool json);

// Width of the terminal that stdout is; 80 when it is none.
int TerminalColumns();

void PrintNote(std::string_view text);  // one line on stderr

// A progress line on stderr: only when stderr is a terminal, at most ten times a second. Reads the
// host clock, so nothing of it may reach a result.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  bool enabled() const { return enabled_; }
  // True when it is time to show a new text. Only every so many calls look at the clock, so it is
  // cheap enough to ask every step; 1 for calls that are seldom.
  bool Due(uint32_t every = 256);
  void Show(std::string_view text);

 private:
  bool enabled_;
  bool shown_ = false;
  int64_t next_ms_ = 0;
  uint32_t calls_ = 0;
};

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_TERMINAL_H_
