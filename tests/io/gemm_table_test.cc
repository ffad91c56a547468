#include "sim/io/gemm_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/plan/gemm_policy.h"
#include "sim/status/located_error.h"
#include "tests/io/temp_file.h"
#include "tests/plan/devices.h"

namespace batchvar {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kHeuristics =
    "gpu,precision,shape,N,K,M,cta_m,cta_n,cta_k,warp_m,warp_k,instr_k,split_k,stages\n";
const std::string kCapture =
    "library,version,gpu,sm_count,m,n,k,dtype,layout,split_k,reduction_scheme,kernel_name\n";
const GemmShape kShape = {1, 4096, 2048, DType::kFp16};

absl::StatusOr<std::shared_ptr<const GemmTable>> Read(const std::string& text,
                                                      TableLayout layout = TableLayout::kNt,
                                                      bool slice_k = true) {
  const TempFile file(text, ".csv");
  return ReadGemmTable(file.path(), layout, slice_k);
}

std::string ErrorOf(const std::string& text) {
  const absl::Status status = Read(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  return std::string(status.message());
}

TEST(GemmTableFile, ReadsTheHeuristicsForm) {
  const auto table = Read(kHeuristics + "H100_SXM,HSH,qkv,4096,2048,1,64,128,64,32,32,16,3,5\n");
  ASSERT_TRUE(table.ok()) << table.status();
  const GemmTableRow* row = (*table)->Find("h100_sxm", kShape);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->tile, (Tile{64, 128, 64}));
  EXPECT_EQ(row->split_k, 3);
  EXPECT_EQ(row->slice_k, 2);
  EXPECT_EQ(row->instr_k, 16);
  EXPECT_EQ(row->sm_count, 0);
  EXPECT_EQ(row->shown, "shape=qkv warp_m=32 stages=5");
  EXPECT_THAT((*table)->source().version, StartsWith("sha256 "));
}

TEST(GemmTableFile, LayoutAndSlicesAreTheReaders) {
  const std::string text = kHeuristics + "A,TST,qkv,4096,2048,1,64,128,64,32,32,16,1,5\n";
  const auto table = Read(text, TableLayout::kTn, false);
  ASSERT_TRUE(table.ok()) << table.status();
  const GemmTableRow* row = (*table)->Find("A", {1, 4096, 2048, DType::kBf16});
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->tile, (Tile{128, 64, 64}));
  EXPECT_EQ(row->slice_k, 1);
}

TEST(GemmTableFile, ReadsTheCaptureForm) {
  const auto table = Read(kCapture + "cublasLt,130100,A,132,1,4096,2048,fp16,TN,4,2,nvjet\n" +
                          "cublasLt,130100,A,132,2,4096,2048,fp16,TN,4,1,nvjet\n" +
                          "cublasLt,130100,A,132,3,4096,2048,bf16,TN,4,4,nvjet\n" +
                          "cublasLt,130100,A,132,4,4096,2048,fp16,TN,0,0,nvjet\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->source().project, "cublasLt");
  EXPECT_EQ((*table)->source().version, "130100");
  const GemmTableRow* compute = (*table)->Find("A", kShape);
  ASSERT_NE(compute, nullptr);
  EXPECT_EQ(compute->split_k, 4);
  EXPECT_EQ(compute->sm_count, 132);
  EXPECT_EQ(compute->tile.m, 0);
  EXPECT_EQ(compute->combine, Combine::kSerialFp32);
  EXPECT_EQ(compute->partial, DType::kFp32);
  EXPECT_EQ(compute->shown, "layout=TN kernel_name=nvjet");
  EXPECT_EQ((*table)->Find("A", {2, 4096, 2048, DType::kFp16})->combine, Combine::kSerial16bit);
  EXPECT_EQ((*table)->Find("A", {3, 4096, 2048, DType::kBf16})->partial, DType::kBf16);
  EXPECT_EQ((*table)->Find("A", {4, 4096, 2048, DType::kFp16})->split_k, 1);
}

TEST(GemmTableFile, ReadsGzip) {
  const TempFile file(Gzip(kHeuristics + "A,HSH,q,4096,2048,1,64,128,64,32,64,16,3,5\n"), ".gz");
  const auto table = ReadGemmTable(file.path(), TableLayout::kNt, true);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->size(), 1u);
}

TEST(GemmTableFile, ErrorsNameLineAndField) {
  EXPECT_THAT(ErrorOf("gpu,precision,M\n"), HasSubstr("missing column 'N'"));
  EXPECT_THAT(ErrorOf(kHeuristics), HasSubstr("a header without rows"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf(kHeuristics + "A,HSS,q,4096,2048,1,64,128,64,32,64,16,3,5\n"),
              HasSubstr(":2: precision: 'HSS' is neither HSH (fp16) nor TST (bf16)"));
  EXPECT_THAT(ErrorOf(kHeuristics + "A,HSH,q,4096,2048,1,64,128,64,32,64,16,0,5\n"),
              HasSubstr(":2: split_k: '0' is below 1"));
  EXPECT_THAT(ErrorOf(kHeuristics + "A,HSH,q,4096,2048,1,64,128,64,32,48,16,1,5\n"),
              HasSubstr(":2: warp_k: does not divide cta_k"));
  EXPECT_THAT(ErrorOf(kHeuristics + "A,HSH,q,4096,2048,1,64,128,64,32,64,16,x,5\n"),
              HasSubstr(":2: split_k: "));
  EXPECT_THAT(ErrorOf(kHeuristics + "A,HSH,q,4096\n"), HasSubstr(":2: K: missing"));
}

TEST(GemmTableFile, TwoRowsForAKeyAreAnError) {
  EXPECT_THAT(ErrorOf(kHeuristics + "A,HSH,q,4096,2048,1,64,128,64,32,64,16,3,5\n" +
                      "a,HSH,o,4096,2048,1,64,128,64,32,64,16,2,5\n"),
              HasSubstr(":3: a second row for gpu a, fp16, M 1, N 4096, K 2048"));
}

TEST(GemmTableFile, ReductionSchemesAreThoseOfTheLibrary) {
  const std::string start = kCapture + "cublasLt,1,A,132,1,4096,2048,fp16,TN,";
  EXPECT_THAT(ErrorOf(start + "4,3,k\n"), HasSubstr("'3' is none of 0, 1, 2 and 4"));
  EXPECT_THAT(ErrorOf(start + "4,0,k\n"), HasSubstr("no reduction, though split_k is above 1"));
  EXPECT_THAT(ErrorOf(kCapture + "cublasLt,1,A,132,1,4096,2048,fp8,TN,1,0,k\n"),
              HasSubstr("'fp8' is neither bf16 nor fp16"));
}

TEST(BlockKTableFile, ReadsRowsAndRefusesSecondOnes) {
  const TempFile file("arch,N,K,block_k\nhopper,4096,2048,128\nada,4096,2048,64\n", ".csv");
  const auto table = ReadBlockKTable(file.path());
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->Find(90, 4096, 2048), 128);
  EXPECT_EQ((*table)->Find(89, 4096, 2048), 64);
  EXPECT_EQ((*table)->Find(80, 4096, 2048), 0);
  const TempFile twice("arch,N,K,block_k\nada,1,1,64\nada,1,1,32\n", ".csv");
  EXPECT_THAT(std::string(ReadBlockKTable(twice.path()).status().message()),
              HasSubstr(":3: a second row"));
}

TEST(LoadGemmTables, LoadsWhereAPolicyNamesAFile) {
  const TempFile file(kHeuristics + "h100_sxm,TST,q,4096,2048,2,64,128,64,32,64,16,3,5\n", ".csv");
  GemmPolicySpec then = DefaultGemmPolicy(GemmPolicyKind::kTable);
  then.table_path = file.path();
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kGemv);
  spec.then = std::make_shared<GemmPolicySpec>(then);
  ASSERT_TRUE(LoadGemmTables(&spec).ok());
  EXPECT_EQ(MakeGemmPolicy(spec)->Plan({2, 4096, 2048}, H100()).decision.split_k, 3);
  EXPECT_THAT(MakeGemmPolicy(spec)->Missing({3, 4096, 2048}, H100()), HasSubstr("M 3, N 4096"));
  spec = DefaultGemmPolicy(GemmPolicyKind::kTable);
  spec.table_path = file.path() + ".not_there";
  EXPECT_EQ(LocationOf(LoadGemmTables(&spec)).file, spec.table_path);
  GemmPolicySpec vllm = DefaultGemmPolicy(GemmPolicyKind::kBatchInvariant);
  vllm.variant = InvariantVariant::kVllm;
  EXPECT_TRUE(LoadGemmTables(&vllm).ok());  // no file is no table: vLLM's default everywhere
  EXPECT_EQ(vllm.block_k_table, nullptr);
}

}  // namespace
}  // namespace batchvar
