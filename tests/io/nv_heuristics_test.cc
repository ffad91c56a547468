// The adapter to nvMatmulHeuristics against a library that repeats what it was asked. NVIDIA's own
// is asked in tests/golden/optional_nv_heuristics.cc, where it is installed.
#include "sim/io/nv_heuristics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sim/io/gemm_table.h"
#include "sim/plan/gemm_policy.h"
#include "sim/status/located_error.h"
#include "tests/io/temp_file.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr GemmShape kShape = {5, 4096, 2048, DType::kBf16};

GemmPolicySpec SpecOf(const std::string& library) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kNvHeuristics);
  spec.library = library;
  return spec;
}

// A library of its own, so that what other tests asked is not counted.
class NvHeuristicsTest : public testing::Test {
 protected:
  NvHeuristicsTest() : file_(ReadAll(BATCHVAR_FAKE_LIBRARY), ".so") {}

  GemmPolicySpec Spec() const { return SpecOf(file_.path()); }

  GemmPolicySpec Loaded(GemmPolicySpec spec) const {
    const absl::Status status = LoadGemmTables(&spec);
    EXPECT_TRUE(status.ok()) << status;
    return spec;
  }

  const GemmTableRow& Answer(const GemmPolicySpec& spec, const GemmShape& shape = kShape) const {
    const GemmTableRow* row = spec.table->Find("h100_sxm", shape);
    EXPECT_NE(row, nullptr);
    return *row;
  }

 private:
  static std::string ReadAll(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  TempFile file_;
};

TEST_F(NvHeuristicsTest, AsksAsFrameworksAskCublas) {
  const GemmPolicySpec spec = Loaded(Spec());
  const GemmTableRow& row = Answer(spec);
  EXPECT_EQ(row.tile, (Tile{16, 64, 32}));  // cta_m runs over features
  EXPECT_EQ(row.split_k, 3);
  EXPECT_EQ(row.slice_k, 2);
  EXPECT_EQ(row.instr_k, 16);
  EXPECT_EQ(row.sm_count, 132);
  EXPECT_EQ(row.shown,
            "discovery_status=2 warp_m=8 warp_n=8 instr_m=4096 instr_n=5 stages=0 grid_swizzle=6 "
            "cta_order=1 cluster_x=9 cluster_y=1");
  EXPECT_EQ(spec.table->source().project, "nvMatmulHeuristics");
  EXPECT_THAT(spec.table->source().version, StartsWith("0.1.7, sha256 "));
}

TEST_F(NvHeuristicsTest, KeysReachTheLibrary) {
  GemmPolicySpec spec = Spec();
  spec.backend = NvBackend::kCutlass3;
  spec.layout = TableLayout::kNt;
  spec.auto_tune = false;
  spec.candidates = 3;
  const GemmPolicySpec loaded = Loaded(spec);
  const GemmTableRow& row = Answer(loaded, {5, 4096, 2048, DType::kFp16});
  EXPECT_EQ(row.tile, (Tile{64, 16, 32}));
  EXPECT_EQ(row.split_k, 2);  // types HSH
  EXPECT_EQ(row.slice_k, 1);  // CUTLASS 3 has none
  EXPECT_THAT(row.shown, HasSubstr("warp_m=0 warp_n=3 instr_m=5 instr_n=4096 stages=4 "
                                   "grid_swizzle=1"));
}

TEST_F(NvHeuristicsTest, AsksOnceForEveryKeyInAnyThread) {
  const GemmPolicySpec first = Loaded(Spec());
  const GemmPolicySpec second = Loaded(Spec());
  EXPECT_EQ(first.table, second.table);
  GemmPolicySpec unranked = Spec();
  unranked.auto_tune = false;
  const GemmPolicySpec other = Loaded(unranked);
  EXPECT_NE(other.table, first.table);
  constexpr int64_t kShapes = 50;
  const auto ask = [&] {
    for (int64_t m = 1; m <= kShapes; ++m) {
      for (const GemmPolicySpec* spec : {&first, &second, &other}) {
        EXPECT_NE(spec->table->Find("H100_SXM", {m, 64, 64}), nullptr);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(ask);
  for (std::thread& thread : threads) thread.join();
  // The library counts its questions; it answers nothing when two are inside at once.
  EXPECT_THAT(Answer(first).shown, HasSubstr("cluster_y=" + std::to_string(2 * kShapes + 1)));
}

TEST_F(NvHeuristicsTest, WhatIsNotAnsweredIsMissing) {
  const GemmPolicySpec spec = Loaded(Spec());
  const auto policy = MakeGemmPolicy(spec);
  EXPECT_EQ(policy->Missing(kShape, H100()), "");
  EXPECT_EQ(policy->Plan(kShape, H100()).decision.split_k, 3);
  EXPECT_THAT(policy->Missing({5, 4096, 2048, DType::kFp32}, H100()),
              HasSubstr("has no answer for gpu h100_sxm, fp32, M 5, N 4096, K 2048"));
  EXPECT_THAT(policy->Missing({5, 4096, 2048}, Device(80)),
              AllOf(StartsWith("nv_heuristics: " + spec.library +
                               " knows no GPU 'test'; set "
                               "policies.gemm.gpu to one of A100_SXM_80GB, "),
                    HasSubstr("H100_SXM")));
  EXPECT_EQ(spec.table->Find("L20", kShape), nullptr);       // has no description
  EXPECT_EQ(spec.table->Find("A40_PCIE", kShape), nullptr);  // has no profile
  EXPECT_NE(spec.table->Find("rtx4090", kShape), nullptr);   // by the name of configs/devices
  EXPECT_EQ(spec.table->Find("", kShape), nullptr);
  EXPECT_THAT(policy->Missing({1, 1, 13}, H100()), HasSubstr("has no answer for"));
}

TEST_F(NvHeuristicsTest, AnUnknownGpuIsAConfigError) {
  GemmPolicySpec spec = Spec();
  spec.gpu = "H100_SMX";
  const absl::Status status = LoadGemmTables(&spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LocationOf(status).field, "policies.gemm.gpu");
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean 'H100_SXM'?"));
}

TEST_F(NvHeuristicsTest, AlsoAboveAGemv) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kGemv);
  spec.then = std::make_shared<GemmPolicySpec>(Spec());
  const auto policy = MakeGemmPolicy(Loaded(spec));
  EXPECT_EQ(policy->Plan({1, 64, 512}, H100()).policy, "gemv");
  EXPECT_EQ(policy->Plan({2, 64, 512}, H100()).policy, "nv_heuristics");
}

void ExpectUnusable(const std::string& path, const std::string& why) {
  GemmPolicySpec spec = SpecOf(path);
  const absl::Status status = LoadGemmTables(&spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << path;
  EXPECT_EQ(LocationOf(status).file, path);
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith(path + ": "), HasSubstr(why),
                    HasSubstr("pip install nvidia-matmul-heuristics"),
                    HasSubstr("nvidia/nvMatmulHeuristics/lib/libnvMatmulHeuristics.so.0"),
                    HasSubstr("policies.gemm.library")));
  EXPECT_EQ(spec.table, nullptr);
}

TEST(NvHeuristicsLibraryFile, ErrorsNameThePathAndWhatToDo) {
  ExpectUnusable("/no/such/folder/lib.so", "there is no such file");
  ExpectUnusable(testing::TempDir(), "there is no such file");
  const TempFile text("this is no library\n", ".so");
  ExpectUnusable(text.path(), "cannot be loaded as a shared library (");
  ExpectUnusable(BATCHVAR_EMPTY_LIBRARY, "has no function nvMatmulHeuristicsGetVersionMajor");
  ExpectUnusable(BATCHVAR_FAKE_LATER_LIBRARY, "is version 0.9.7; only 0.1 has the interface");
}

// dlopen would take a bare name for one of the system's libraries.
TEST(NvHeuristicsLibraryFile, ABareNameIsAFileOfTheWorkingDirectory) {
  ExpectUnusable("libm.so.6", "there is no such file");
}

TEST(NvGpus, HaveNamesAndNumbersOfTheirOwn) {
  std::set<std::string> names;
  std::set<int32_t> numbers;
  for (const NvGpu& gpu : NvGpus()) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_TRUE(numbers.insert(gpu.number).second) << gpu.name;
    EXPECT_TRUE(*gpu.also == '\0' || names.insert(gpu.also).second) << gpu.name;
  }
}

}  // namespace
}  // namespace batchvar
