// batchvar trace inspect FILE --format F: what a trace holds.
#include <cmath>
#include <memory>
#include <string>

#include "sim/io/trace_reader.h"
#include "sim/io/trace_statistics.h"
#include "sim/io/trace_statistics_text.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

struct InspectArguments {
  std::string path;
  TraceOptions options;
  double tpot_ms = static_cast<double>(kDefaultTpotNs) / kNsPerMs;
  bool json = false;
};

ExitCode Inspect(const InspectArguments& arguments) {
  constexpr double kMaxTpotMs = 1e6;
  if (!(arguments.tpot_ms >= 0 && arguments.tpot_ms <= kMaxTpotMs)) {
    return ReportError(ConfigError({"", 0, 0, "--tpot-ms"}, "must be a number from 0 to 1e6"),
                       arguments.json);
  }
  const absl::StatusOr<Trace> trace = ReadTrace(arguments.path, arguments.options);
  if (!trace.ok()) return ReportError(trace.status(), arguments.json);
  const TraceStatistics statistics =
      StatisticsOf(*trace, std::llround(arguments.tpot_ms * kNsPerMs));
  PrintData(arguments.json ? StatisticsJson(arguments.options.format, *trace, statistics)
                           : StatisticsTable(*trace, statistics));
  return ExitCode::kDone;
}

}  // namespace

void AddTraceCommand(CLI::App* app, ExitCode* exit_code) {
  CLI::App* trace = app->add_subcommand("trace", "Look into a trace of production requests");
  trace->require_subcommand(1);
  CLI::App* inspect =
      trace->add_subcommand("inspect", "Print a trace's arrivals, lengths, load and prefix reuse");
  const auto arguments = std::make_shared<InspectArguments>();
  TraceOptions& options = arguments->options;
  inspect->add_option("FILE", arguments->path, "The trace; .gz is unpacked")->required();
  // Not ->required(): ReadTrace's message for a missing one lists the formats.
  inspect->add_option("--format", options.format,
                      "One of " + TraceFormatList() + "; never guessed");
  inspect->add_option("--block-size", options.block_size,
                      "Tokens in a block of hash_ids (default: 512 for mooncake, 16 for bailian)");
  inspect->add_flag("--strict", options.strict,
                    "Refuse rows out of order and rows with zero tokens");
  inspect->add_option("--tpot-ms", arguments->tpot_ms,
                      "Time per output token for the load (default: 30)");
  inspect->add_flag("--json", arguments->json, "Print JSON");
  inspect->callback([arguments, exit_code] { *exit_code = Inspect(*arguments); });
}

}  // namespace batchvar
