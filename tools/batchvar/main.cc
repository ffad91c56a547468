// batchvar: which neighbours change a request's bits, where, and whether a token flips.
#include <string>
#include <vector>

#include "sim/status/located_error.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

// CLI11 knows that a word is not a verb, not which verb was meant.
std::string VerbHint(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
  }
  for (const std::string& verb : verbs) {
    if (verb == argv[1]) return "";
  }
  const std::string nearest = NearestName(argv[1], verbs);
  std::string hint = "'" + std::string(argv[1]) + "' is not a batchvar command";
  if (!nearest.empty()) hint += "; did you mean '" + nearest + "'?";
  return hint;
}

bool WantsJson(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--json") return true;
  }
  return false;
}

int Main(int argc, char** argv) {
  CLI::App app("Which neighbours change a request's bits, where, and whether a token flips.",
               "batchvar");
  app.set_version_flag("--version", std::string("batchvar ") + BATCHVAR_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  ExitCode exit_code = ExitCode::kDone;
  AddSimulateCommand(&app, &exit_code);
  AddExplainCommand(&app, &exit_code);
  AddPlanCommand(&app, &exit_code);
  AddClassesCommand(&app, &exit_code);
  AddExecuteCommand(&app, &exit_code);
  AddExperimentCommand(&app, &exit_code);
  AddHazardCommand(&app, &exit_code);
  AddTraceCommand(&app, &exit_code);
  AddSweepCommand(&app, &exit_code);
  AddConfigCommand(&app, &exit_code);
  AddRevealCommand(&app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    const std::string hint = VerbHint(app, argc, argv);
    const std::string text = hint.empty() ? std::string(error.what()) : hint;
    const absl::Status status = ConfigError({}, text + " (see 'batchvar --help')");
    return static_cast<int>(ReportError(status, WantsJson(argc, argv)));
  }
  return static_cast<int>(exit_code);
}

}  // namespace
}  // namespace batchvar

int main(int argc, char** argv) { return batchvar::Main(argc, argv); }
