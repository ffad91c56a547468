#include "sim/config/load_experiment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/status/located_error.h"
#include "tests/config/experiment_text.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

constexpr char kModels[] =
    "(known: llama31_8b, llama3_70b, llama3_8b, mixtral_8x7b, qwen3_0_6b, qwen3_30b_a3b, "
    "qwen3_32b, qwen3_8b, smollm2_135m, textbook_8b)";

TEST(LoadExperiment, FillsInEveryDefault) {
  const ExperimentSpec spec = SpecWith("");
  EXPECT_EQ(spec.schema_version, 1);
  EXPECT_EQ(spec.seed, 42U);
  EXPECT_EQ(spec.model.name, "llama3_8b");
  EXPECT_EQ(spec.model.vocab_size, 128256);
  EXPECT_EQ(spec.device.sm_count, 132);
  EXPECT_EQ(spec.tp, 1);
  EXPECT_EQ(spec.dtype, DType::kBf16);
  EXPECT_EQ(spec.policies.name, "textbook");
  EXPECT_EQ(spec.gpu_memory_utilization, 0.9);
  EXPECT_FALSE(spec.workload.has_trace);
  EXPECT_EQ(spec.workload.synthetic.num_requests, 1000);
  EXPECT_EQ(spec.goodput.ttft_ms, 0);
}

TEST(LoadExperiment, ReadsTopLevelKeys) {
  const ExperimentSpec spec = SpecWith(
      "schema_version: 1\nseed: 18446744073709551615\ntp: 4\ndtype: fp16\n"
      "goodput: {ttft_ms: 500, tpot_ms: 50.5}\n");
  EXPECT_EQ(spec.seed, 18446744073709551615U);
  EXPECT_EQ(spec.tp, 4);
  EXPECT_EQ(spec.dtype, DType::kFp16);
  EXPECT_EQ(spec.goodput.ttft_ms, 500);
  EXPECT_EQ(spec.goodput.tpot_ms, 50.5);
  EXPECT_EQ(spec.goodput.e2el_ms, 0);
}

TEST(LoadExperiment, ChecksTopLevelKeys) {
  EXPECT_EQ(ErrorWith("schema_version: 2\n"),
            "exp.yaml:4:17: schema_version: is 2; this version reads 1");
  EXPECT_EQ(ErrorWith("seed: -1\n"), "exp.yaml:4:7: seed: must be at least 0, got -1");
  EXPECT_EQ(ErrorWith("seed: 010\n"),
            "exp.yaml:4:7: seed: '010' is not a decimal integer; write 10");
  EXPECT_EQ(ErrorWith("dtype: fp32\n"),
            "exp.yaml:4:8: dtype: 'fp32' is not one of bf16, fp16; did you mean 'fp16'?");
  EXPECT_EQ(ErrorWith("tp: 5\n").substr(0, 56),
            "exp.yaml:4:5: tp: llama3_8b cannot be cut into 5 ranks: ");
  EXPECT_EQ(ErrorWith("goodput: {ttft: 5}\n"), "exp.yaml:4:11: goodput.ttft: unknown key 'ttft'");
  EXPECT_EQ(ErrorWith("shceduler: {}\n"),
            "exp.yaml:4:1: shceduler: unknown key 'shceduler'; did you mean 'scheduler'?");
  EXPECT_EQ(ErrorWith("seed: 1\nseed: 1\n"), "exp.yaml:5:1: seed: given twice; first on line 4");
}

TEST(LoadExperiment, RequiresModelDeviceAndWorkload) {
  EXPECT_EQ(ErrorOf("device: h100_sxm\n"), "exp.yaml:1:1: model: is required");
  EXPECT_EQ(ErrorOf("model: llama3_8b\n"), "exp.yaml:1:1: device: is required");
  EXPECT_EQ(ErrorOf("model: llama3_8b\ndevice: h100_sxm\n"), "exp.yaml:1:1: workload: is required");
  EXPECT_EQ(ErrorOf("model: llama3_8b\ndevice: h100_sxm\nworklod: {}\n"),
            "exp.yaml:3:1: worklod: unknown key 'worklod'; did you mean 'workload'?");
  EXPECT_EQ(ErrorOf("model:\ndevice: h100_sxm\nworkload: {}\n"),
            "exp.yaml:1:1: model: has no value; give one or remove the key");
}

TEST(LoadExperiment, RefusesWhatIsNoExperiment) {
  EXPECT_EQ(ErrorOf(""), "exp.yaml: is empty; 'batchvar config init' writes one to start from");
  EXPECT_EQ(ErrorOf("[1, 2]\n"), "exp.yaml: must hold a map of keys, not a list");
  EXPECT_EQ(ErrorOf("seed: 1\nmodel: [a,\n"),
            "exp.yaml:2:1: not valid YAML: end of sequence flow not found");
}

TEST(LoadExperiment, AnswersEveryTruncatedFile) {
  const std::string text = StarterExperiment();
  for (size_t length = 0; length < text.size(); length += 7) {
    const absl::StatusOr<ExperimentSpec> spec = LoadText(text.substr(0, length));
    EXPECT_TRUE(spec.ok() || spec.status().code() == absl::StatusCode::kInvalidArgument) << length;
  }
}

TEST(LoadExperiment, KnowsTheNamesOfFiles) {
  const std::string rest = "device: h100_sxm\nworkload: {}\n";
  EXPECT_EQ(ErrorOf("model: llama31_8c\n" + rest),
            std::string("exp.yaml:1:8: model: unknown model 'llama31_8c'; did you mean "
                        "'llama31_8b'? ") +
                kModels);
  EXPECT_EQ(ErrorOf("model: gpt\n" + rest),
            std::string("exp.yaml:1:8: model: unknown model 'gpt' ") + kModels);
  EXPECT_EQ(ErrorOf("model: llama3_8b\ndevice: h100_sxn\n"),
            "exp.yaml:2:9: device: unknown device 'h100_sxn'; did you mean 'h100_sxm'? (known: "
            "a100_sxm, a10g, b200, h100_pcie, h100_sxm, h20, h200_sxm, l20, l40s, rtx4090, "
            "rtx_pro_6000)");
  EXPECT_EQ(
      ErrorWith("scheduler: vllm\n"),
      "exp.yaml:4:12: scheduler: unknown scheduler 'vllm' (known: orca, sglang, static, vllm_v1)");
  EXPECT_EQ(ErrorOf("model: ./nothing.yaml\n" + rest),
            "exp.yaml:1:8: model: no file ./nothing.yaml");
}

TEST(LoadExperiment, ReadsAnInlineModelAndDevice) {
  const absl::StatusOr<ExperimentSpec> spec = LoadText(
      "model: {layers: 2, hidden_size: 64, intermediate_size: 128, q_heads: 4, kv_heads: 2,\n"
      "        head_dim: 16, vocab_size: 100, max_positions: 256}\n"
      "device: {sm_count: 8, compute_capability: 90, memory_bytes: 1000000000,\n"
      "         memory_bytes_per_s: 1000000, dense_16bit_flops: 1000000,\n"
      "         interconnect_bytes_per_s: 1000}\n"
      "workload: {arrivals: {process: all_at_once}, prompt_len: {fixed: 8}, output_len: {fixed: "
      "4}}");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->model.name, "inline");
  EXPECT_EQ(spec->model.layers, 2);
  EXPECT_EQ(spec->device.name, "inline");
  EXPECT_EQ(spec->device.reserve_bytes, 0);
  EXPECT_EQ(spec->scheduler.max_model_len, 256);
  EXPECT_EQ(spec->scheduler.max_num_batched_tokens, 2048);
}

TEST(LoadExperiment, ReportsAMissingFileInOneLine) {
  const absl::StatusOr<ExperimentSpec> spec = LoadExperiment("no/such/file.yaml", {});
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spec.status().message(),
            "no/such/file.yaml: cannot be opened: No such file or directory");
  EXPECT_EQ(LoadExperiment("/", {}).status().message(), "/: is a folder, not a file");
}

// A folder of its own with an experiment in it.
class ExperimentFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/batchvar_config_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }

  std::string folder_;
};

TEST_F(ExperimentFolder, ResolvesPathsAgainstItself) {
  Write("tiny.yaml",
        "layers: 2\nhidden_size: 64\nintermediate_size: 128\nq_heads: 4\nkv_heads: 2\n"
        "head_dim: 16\nvocab_size: 100\nmax_positions: 256\n");
  Write("exp.yaml",
        "model: tiny.yaml\ndevice: h100_sxm\n"
        "workload: {trace: {path: data/t.csv, format: azure}}\n");
  const absl::StatusOr<ExperimentSpec> spec = LoadExperiment(folder_ + "/exp.yaml", {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->model.name, "tiny");
  EXPECT_EQ(spec->workload.trace.path, "data/t.csv");
  EXPECT_EQ(spec->workload.trace.resolved_path, folder_ + "/data/t.csv");
}

TEST_F(ExperimentFolder, PlacesMistakesInTheFileThatHasThem) {
  Write("tiny.yaml", "layers: 2\nhidden_size: many\n");
  Write("list.yaml", "[1]\n");
  Write("exp.yaml", "model: ./tiny.yaml\ndevice: h100_sxm\nworkload: {}\n");
  EXPECT_EQ(LoadExperiment(folder_ + "/exp.yaml", {}).status().message(),
            folder_ + "/./tiny.yaml:2:14: model.hidden_size: 'many' is not a decimal integer");
  EXPECT_EQ(LoadExperiment(folder_ + "/exp.yaml", {"model=list.yaml"}).status().message(),
            folder_ + "/list.yaml: model: must hold a map of keys, not a list");
}

TEST_F(ExperimentFolder, ConfigsDirFollowsTheEnvironment) {
  ASSERT_EQ(setenv("BATCHVAR_CONFIGS_DIR", folder_.c_str(), 1), 0);
  EXPECT_EQ(ConfigsDir(), folder_);
  EXPECT_EQ(LoadModel("llama3_8b").status().message(),
            "model: no model file lies in " + folder_ +
                "/models; set BATCHVAR_CONFIGS_DIR to the folder that holds models/");
  ASSERT_EQ(unsetenv("BATCHVAR_CONFIGS_DIR"), 0);
  EXPECT_EQ(ConfigsDir(), ProjectPath("configs"));
}

TEST(LoadModel, ReadsByNameAndByPath) {
  const absl::StatusOr<ModelSpec> by_name = LoadModel("mixtral_8x7b");
  ASSERT_TRUE(by_name.ok()) << by_name.status();
  EXPECT_TRUE(by_name->IsMoe());
  const absl::StatusOr<ModelSpec> by_path = LoadModel(ProjectPath("configs/models/qwen3_8b.yaml"));
  ASSERT_TRUE(by_path.ok()) << by_path.status();
  EXPECT_TRUE(by_path->qk_norm);
  EXPECT_EQ(LoadModel("qwen").status().message(),
            std::string("model: unknown model 'qwen' ") + kModels);
}

std::string ModelError(const std::string& keys) {
  return ErrorOf(
      "model: {layers: 2, hidden_size: 64, head_dim: 16, vocab_size: 9, "
      "max_positions: 256,\n" +
      keys + "}\ndevice: h100_sxm\nworkload: {}\n");
}

TEST(LoadModel, ChecksWhatKeysSayTogether) {
  EXPECT_EQ(ModelError("q_heads: 4, kv_heads: 3, intermediate_size: 8"),
            "exp.yaml:2:10: model.q_heads: must be a multiple of kv_heads, 3");
  EXPECT_EQ(ModelError("q_heads: 4, kv_heads: 2"),
            "exp.yaml:1:8: model.intermediate_size: is required");
  EXPECT_EQ(ModelError("q_heads: 4, kv_heads: 2, intermediate_size: 0"),
            "exp.yaml:2:45: model.intermediate_size: must be at least 1 in a model without "
            "num_experts");
  EXPECT_EQ(ModelError("q_heads: 4, kv_heads: 2, intermediate_size: 8, experts_per_token: 2"),
            "exp.yaml:2:48: model.experts_per_token: is not used by a model without num_experts; "
            "remove it");
  EXPECT_EQ(ModelError("q_heads: 4, kv_heads: 2, num_experts: 8, moe_intermediate_size: 8, "
                       "experts_per_token: 9"),
            "exp.yaml:2:87: model.experts_per_token: is more than num_experts, 8");
  EXPECT_EQ(ModelError("q_heads: 4, kv_heads: 2, num_experts: 8"),
            "exp.yaml:1:8: model.experts_per_token: is required");
  EXPECT_EQ(ModelError("q_heads: 4, kv_heads: 2, intermediate_size: 8, qk_norm: yes"),
            "exp.yaml:2:57: model.qk_norm: 'yes' is not a boolean; write true");
}

TEST(LoadDevice, ChecksRanges) {
  const std::vector<std::string> no_sms = {"device.sm_count=0"};
  EXPECT_EQ(ErrorWith("", no_sms),
            "--set device.sm_count=0: device.sm_count: must be between 1 and 65536, got 0");
  EXPECT_EQ(ErrorWith("", {"device.compute_capability=75"}),
            "--set device.compute_capability=75: device.compute_capability: must be between 80 "
            "and 199, got 75");
  EXPECT_EQ(ErrorWith("", {"device.memory_bytes_per_s=3.35e12"}),
            "--set device.memory_bytes_per_s=3.35e12: device.memory_bytes_per_s: '3.35e12' is not "
            "a decimal integer; write 3350000000000");
  EXPECT_TRUE(LoadDevice("rtx4090").ok());
}

}  // namespace
}  // namespace batchvar
