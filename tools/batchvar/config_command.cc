// `batchvar config validate|expand|init`.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/config/load_experiment.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/commands.h"
#include "tools/batchvar/terminal.h"

namespace batchvar {
namespace {

struct ConfigArguments {
  std::string file;
  std::vector<std::string> overrides;
  bool json = false;
};

ExitCode Validate(const ConfigArguments& arguments) {
  const absl::StatusOr<ExperimentSpec> spec = LoadExperiment(arguments.file, arguments.overrides);
  if (!spec.ok()) return ReportError(spec.status(), arguments.json);
  if (!arguments.json) {
    PrintData(arguments.file + ": ok\n");
    return ExitCode::kDone;
  }
  const nlohmann::ordered_json object = {
      {"schema_version", 1}, {"kind", "validation"}, {"file", arguments.file}, {"valid", true}};
  PrintData(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  return ExitCode::kDone;
}

ExitCode Expand(const ConfigArguments& arguments) {
  const absl::StatusOr<ExperimentSpec> spec = LoadExperiment(arguments.file, arguments.overrides);
  if (!spec.ok()) return ReportError(spec.status(), arguments.json);
  PrintData(ExpandToYaml(*spec));
  return ExitCode::kDone;
}

// Creates the file; one that is there already is left alone.
absl::Status WriteNewFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  if (file == nullptr && errno == EEXIST) {
    return ConfigError({path, 0, 0, ""}, "is there already and is left as it is");
  }
  if (file == nullptr) {
    return InputError({path, 0, 0, ""}, std::string("cannot be created: ") + std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed) return absl::OkStatus();
  return InputError({path, 0, 0, ""}, std::string("cannot be written: ") + std::strerror(errno));
}

ExitCode Init(const ConfigArguments& arguments) {
  if (arguments.file.empty()) {
    PrintData(StarterExperiment());
    return ExitCode::kDone;
  }
  const absl::Status status = WriteNewFile(arguments.file, StarterExperiment());
  if (!status.ok()) return ReportError(status, arguments.json);
  PrintNote("wrote " + arguments.file);
  return ExitCode::kDone;
}

void AddFileAndOverrides(CLI::App* verb, ConfigArguments* arguments) {
  verb->add_option("FILE", arguments->file, "experiment (YAML)")->required();
  verb->add_option("--set", arguments->overrides,
                   "KEY=VALUE over the file, as in scheduler.max_num_seqs=64; repeatable")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_flag("--json", arguments->json, "result and errors as one JSON object");
}

}  // namespace

void AddConfigCommand(CLI::App* app, ExitCode* exit_code) {
  CLI::App* config = app->add_subcommand("config", "check, expand or begin an experiment file");
  config->require_subcommand(1);
  // CLI11 writes into this long after this function has returned.
  const auto arguments = std::make_shared<ConfigArguments>();

  CLI::App* validate = config->add_subcommand("validate", "say whether an experiment is sound");
  AddFileAndOverrides(validate, arguments.get());
  validate->callback([arguments, exit_code] { *exit_code = Validate(*arguments); });

  CLI::App* expand = config->add_subcommand("expand", "print it with every default filled in");
  AddFileAndOverrides(expand, arguments.get());
  expand->callback([arguments, exit_code] { *exit_code = Expand(*arguments); });

  CLI::App* init = config->add_subcommand("init", "write a commented experiment to start from");
  init->add_option("FILE", arguments->file, "new file; stdout if absent");
  init->callback([arguments, exit_code] { *exit_code = Init(*arguments); });
}

}  // namespace batchvar
