#include "tools/batchvar/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "sim/report/error_json.h"

namespace batchvar {
namespace {

constexpr int64_t kProgressIntervalMs = 100;

int64_t HostMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void PrintData(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    std::fprintf(stderr, "batchvar: cannot write to standard output\n");
    std::_Exit(static_cast<int>(ExitCode::kInput));
  }
}

ExitCode ReportError(const absl::Status& status, bool json) {
  const ExitCode code = ExitCodeOf(status);
  const std::string message(status.message());
  if (!json) {
    std::fprintf(stderr, "batchvar: %s\n", message.c_str());
    return code;
  }
  const std::string text =
      ErrorJson(status, static_cast<int>(code))
          .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fprintf(stderr, "%s\n", text.c_str());
  return code;
}

int TerminalColumns() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void PrintNote(std::string_view text) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
}

ProgressLine::ProgressLine() : enabled_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fprintf(stderr, "\r\x1b[K");
}

bool ProgressLine::Due(uint32_t every) {
  if (!enabled_ || ++calls_ % every != 0) return false;
  const int64_t now = HostMs();
  if (now < next_ms_) return false;
  next_ms_ = now + kProgressIntervalMs;
  return true;
}

void ProgressLine::Show(std::string_view text) {
  shown_ = true;
  std::fprintf(stderr, "\r\x1b[K%.*s", static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
}

}  // namespace batchvar
