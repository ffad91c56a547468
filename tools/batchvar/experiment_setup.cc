#include "tools/batchvar/experiment_setup.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/batchvar/flag_checks.h"
#include "tools/batchvar/model_folder.h"

namespace batchvar {
namespace {

constexpr int64_t kBosToken = 1;  // of llama2.c's models, which expect one; others add none

absl::StatusOr<std::vector<int64_t>> PromptOf(const TrialsSpec& trials,
                                              const Tokenizer* tokenizer) {
  if (!trials.prompt_ids.empty()) return trials.prompt_ids;
  if (tokenizer == nullptr) {
    return FlagError("experiment.prompt",
                     absl::StrCat("'", trials.weights, "' has no tokenizer; give prompt_ids"));
  }
  const auto ids = tokenizer->Encode(trials.prompt);
  if (!ids.ok()) return ids.status();
  std::vector<int64_t> prompt(ids->begin(), ids->end());
  if (trials.add_bos) prompt.insert(prompt.begin(), kBosToken);
  return prompt;
}

}  // namespace

absl::StatusOr<ExperimentSetup> SetUpExperiment(const TrialsSpec& trials) {
  ExperimentSetup setup;
  auto model = FindExecutedModel(trials.weights, trials.synthetic.has_value());
  if (!model.ok()) return model.status();
  setup.tokenizer = std::move(model->tokenizer);
  auto prompt = PromptOf(trials, setup.tokenizer.get());
  if (!prompt.ok()) return prompt.status();
  setup.options.weights_folder = model->folder;
  setup.options.prompt = *std::move(prompt);
  setup.options.isa = BestIsa();
  return setup;
}

std::vector<std::string> FilesOfModel(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".json" || ending == ".safetensors" || ending == ".bin") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace batchvar
