// Every file of configs/ loads and says what it must.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/load_experiment.h"
#include "sim/config/load_sweep.h"
#include "sim/config/load_trials.h"
#include "sim/shape/model_spec.h"
#include "tests/config/experiment_text.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

std::string NameOf(const std::string& path) { return std::filesystem::path(path).stem().string(); }

TEST(ShippedModels, LoadUnderTheirOwnNameAndSayTheirSource) {
  const std::vector<std::string> files = ListFiles(ProjectPath("configs/models"), ".yaml");
  EXPECT_EQ(files.size(), 10U);
  for (const std::string& file : files) {
    const absl::StatusOr<ModelSpec> model = LoadModel(file);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->name, NameOf(file));
    EXPECT_FALSE(model->source.empty()) << file;
  }
}

// Published parameter counts. The norms' weights are in them to within a thousandth.
TEST(ShippedModels, HaveThePublishedNumberOfParameters) {
  struct Case {
    const char* model;
    double billions;
  };
  for (const Case& published : {Case{"llama3_8b", 8.030},
                                {"llama31_8b", 8.030},
                                {"llama3_70b", 70.554},
                                {"qwen3_8b", 8.191},
                                {"qwen3_32b", 32.762},
                                {"qwen3_0_6b", 0.596},
                                {"qwen3_30b_a3b", 30.532},
                                {"mixtral_8x7b", 46.703},
                                {"smollm2_135m", 0.1345}}) {
    const absl::StatusOr<ModelSpec> model = LoadModel(published.model);
    ASSERT_TRUE(model.ok()) << model.status();
    const double billions = static_cast<double>(NumParameters(*model)) / 1e9;
    EXPECT_NEAR(billions / published.billions, 1.0, 0.002) << published.model;
  }
}

TEST(ShippedDevices, LoadUnderTheirOwnNameWithTheirSmCount) {
  struct Case {
    const char* device;
    int32_t sm_count;
    int32_t compute_capability;
  };
  const std::vector<Case> cases = {
      {"h100_sxm", 132, 90}, {"h100_pcie", 114, 90}, {"h200_sxm", 132, 90},     {"h20", 78, 90},
      {"a100_sxm", 108, 80}, {"a10g", 80, 86},       {"l20", 92, 89},           {"l40s", 142, 89},
      {"b200", 148, 100},    {"rtx4090", 128, 89},   {"rtx_pro_6000", 188, 120}};
  EXPECT_EQ(ListFiles(ProjectPath("configs/devices"), ".yaml").size(), cases.size());
  for (const Case& expected : cases) {
    const absl::StatusOr<DeviceSpec> device = LoadDevice(expected.device);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_EQ(device->name, expected.device);
    EXPECT_EQ(device->sm_count, expected.sm_count) << expected.device;
    EXPECT_EQ(device->compute_capability, expected.compute_capability) << expected.device;
    EXPECT_FALSE(device->source.empty()) << expected.device;
    EXPECT_GT(device->reserve_bytes, 0) << expected.device;
    EXPECT_GT(device->step_overhead_ns, 0) << expected.device;
  }
}

TEST(ShippedPolicies, Load) {
  for (const std::string& file : ListFiles(ProjectPath("configs/policies"), ".yaml")) {
    const absl::StatusOr<PolicySpec> policies = LoadPolicies(file);
    ASSERT_TRUE(policies.ok()) << policies.status();
    EXPECT_EQ(policies->name, NameOf(file));
  }
}

TEST(ShippedPolicies, SayWhatTheStructsSay) {
  const absl::StatusOr<PolicySpec> policies = LoadPolicies("textbook");
  ASSERT_TRUE(policies.ok()) << policies.status();
  const GemmPolicySpec gemm = DefaultGemmPolicy(GemmPolicyKind::kTextbook);
  EXPECT_EQ(policies->gemm.tile_m, gemm.tile_m);
  EXPECT_EQ(policies->gemm.tile_n, gemm.tile_n);
  EXPECT_EQ(policies->gemm.tile_k, gemm.tile_k);
  EXPECT_EQ(policies->gemm.k_min, gemm.k_min);
  EXPECT_EQ(policies->gemm.max_split, gemm.max_split);
  EXPECT_EQ(policies->attention.tile_kv, AttentionPolicySpec().tile_kv);
}

TEST(ShippedExperiments, TheLongPromptMeetsItsNeighbours) {
  const absl::StatusOr<ExperimentSpec> spec =
      LoadExperiment(ProjectPath("configs/experiments/long_prompt.yaml"), {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->scheduler.max_num_batched_tokens, 512);
  ASSERT_TRUE(FileExists(spec->workload.trace.resolved_path));
  const std::vector<std::string> lines = ReadLinesOrDie(spec->workload.trace.resolved_path);
  ASSERT_EQ(lines.size(), 21U);
  EXPECT_EQ(lines.back(),
            "{\"request_id\":\"target\",\"arrival_ns\":1000000000,\"prompt_tokens\":3000,"
            "\"output_tokens\":16}");
}

TEST(ShippedExperiments, PointAtNothingOutsideTheProject) {
  for (const std::string& file : ListFiles(ProjectPath("configs/experiments"), ".yaml")) {
    if (IsTrialsFile(file)) continue;  // these have no trace
    absl::StatusOr<ExperimentSpec> spec = absl::UnknownError("");
    if (IsSweepFile(file)) {
      const absl::StatusOr<SweepSpec> sweep = LoadSweep(file, {});
      ASSERT_TRUE(sweep.ok()) << sweep.status();
      spec = LoadBase(*sweep);
    } else {
      spec = LoadExperiment(file, {});
    }
    ASSERT_TRUE(spec.ok()) << spec.status();
    const std::string& path = spec->workload.trace.path;
    EXPECT_FALSE(path.starts_with("/") || path.starts_with("../../../")) << file;
  }
}

}  // namespace
}  // namespace batchvar
