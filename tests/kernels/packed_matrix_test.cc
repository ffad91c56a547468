#include "kernels/cpu/packed_matrix.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/operands.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

std::vector<uint16_t> Weights(Family family, int64_t n, int64_t k, DType dtype) {
  RandomStream random(5, "packed_matrix_test");
  return RandomOperands(family, dtype, 0.03, n, k, &random);
}

// The word of column `column` and position `k` as the panels hold it.
uint16_t At(const PackedMatrix& matrix, int64_t column, int64_t k) {
  const int32_t word = PanelWord(static_cast<int32_t>(column % kPanelColumns), matrix.dtype());
  return matrix.Panel(column / kPanelColumns)[k * kPanelColumns + word];
}

TEST(PackedMatrix, HoldsEveryWeight) {
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    for (const int64_t n : {1, 31, 32, 33, 100}) {
      const int64_t k = 77;
      const auto weights = Weights(Family::kBits, n, k, dtype);
      const PackedMatrix matrix = PackedMatrix::Pack(weights.data(), n, k, dtype);
      EXPECT_EQ(matrix.num_panels(), (n + 31) / 32);
      for (int64_t column = 0; column < matrix.num_panels() * kPanelColumns; ++column) {
        const int64_t source = std::min(column, n - 1);  // filling columns repeat the last one
        for (int64_t i = 0; i < k; ++i) {
          ASSERT_EQ(At(matrix, column, i), weights[source * k + i]) << n << " " << column;
        }
        for (int64_t i = k; i < k + kPanelPadRows; ++i) ASSERT_EQ(At(matrix, column, i), 0);
      }
    }
  }
}

TEST(PackedMatrix, KnowsWhichPanelsHoldSpecials) {
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    auto weights = Weights(Family::kGaussian, 96, 8, dtype);
    weights[40 * 8 + 3] = dtype == DType::kBf16 ? 0xFF80 : 0xFC00;  // -infinity
    const PackedMatrix matrix = PackedMatrix::Pack(weights.data(), 96, 8, dtype);
    EXPECT_FALSE(matrix.HasSpecials(0));
    EXPECT_TRUE(matrix.HasSpecials(1));
    EXPECT_FALSE(matrix.HasSpecials(2));
  }
}

class PackedFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "packed_matrix_test.bvpanel";
    weights_ = Weights(Family::kSpecials, 70, 50, DType::kFp16);
    matrix_ = PackedMatrix::Pack(weights_.data(), 70, 50, DType::kFp16);
    ASSERT_EQ(matrix_.Save(path_), "");
    bytes_ = ReadFileOrDie(path_);
  }
  void TearDown() override { std::remove(path_.c_str()); }

  // What Map says about a file of these bytes.
  std::string ProblemOf(const std::string& bytes, bool check_weights = true) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    PackedMatrix mapped;
    const std::string problem = PackedMatrix::Map(path_, check_weights, &mapped);
    EXPECT_EQ(problem.empty(), mapped.n() == 70);  // all or nothing
    return problem;
  }
  std::string Flipped(size_t byte) const {
    std::string bytes = bytes_;
    bytes[byte] = static_cast<char>(bytes[byte] ^ 4);
    return bytes;
  }

  std::string path_;
  std::vector<uint16_t> weights_;
  PackedMatrix matrix_;
  std::string bytes_;
};

TEST_F(PackedFile, RoundTrip) {
  PackedMatrix mapped;
  ASSERT_EQ(PackedMatrix::Map(path_, true, &mapped), "");
  std::remove(path_.c_str());  // a mapping outlives the name of its file
  EXPECT_EQ(mapped.n(), 70);
  EXPECT_EQ(mapped.k(), 50);
  EXPECT_EQ(mapped.dtype(), DType::kFp16);
  for (int64_t panel = 0; panel < mapped.num_panels(); ++panel) {
    EXPECT_EQ(mapped.HasSpecials(panel), matrix_.HasSpecials(panel));
  }
  for (int64_t column = 0; column < 70; ++column) {
    for (int64_t k = 0; k < 50; ++k) ASSERT_EQ(At(mapped, column, k), weights_[column * 50 + k]);
  }
}

TEST_F(PackedFile, RefusesDamage) {
  EXPECT_EQ(ProblemOf(bytes_), "");
  EXPECT_NE(ProblemOf(Flipped(0)).find("not a packed matrix"), std::string::npos);
  for (size_t byte = 8; byte < 64; ++byte) {
    EXPECT_NE(ProblemOf(Flipped(byte)).find("damaged header"), std::string::npos) << byte;
  }
  for (size_t byte = 64; byte < 64 + 3; ++byte) {
    EXPECT_NE(ProblemOf(Flipped(byte)).find("damaged flags"), std::string::npos) << byte;
  }
  EXPECT_NE(ProblemOf(Flipped(5000)).find("damaged weights"), std::string::npos);
  EXPECT_NE(ProblemOf(Flipped(bytes_.size() - 1)).find("damaged weights"), std::string::npos);
  EXPECT_EQ(ProblemOf(Flipped(5000), false), "");  // not asked for
}

TEST_F(PackedFile, RefusesAnotherLength) {
  EXPECT_NE(ProblemOf("").find("too short"), std::string::npos);
  EXPECT_NE(ProblemOf(bytes_.substr(0, 63)).find("too short"), std::string::npos);
  EXPECT_NE(ProblemOf(bytes_.substr(0, bytes_.size() - 1)).find("cut short"), std::string::npos);
  EXPECT_NE(ProblemOf(bytes_ + "x").find("cut short"), std::string::npos);
}

TEST_F(PackedFile, NamesAFileThatIsNotThere) {
  PackedMatrix mapped;
  const std::string problem = PackedMatrix::Map(path_ + ".missing", true, &mapped);
  EXPECT_NE(problem.find(path_ + ".missing cannot be opened"), std::string::npos) << problem;
}

}  // namespace
}  // namespace batchvar
