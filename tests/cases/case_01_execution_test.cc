// case-01 by execution: one row, many batch heights (NVIDIA/TransformerEngine#2986). One GEMM row
// is summed as each height would have it summed, and the bits are compared.
#include <bit>
#include <map>

#include "sim/io/gemm_table.h"
#include "sim/plan/order_digest.h"
#include "tests/cases/case_file.h"
#include "tests/cases/case_operands.h"

namespace batchvar {
namespace {

constexpr char kDevice[] = "l20";
constexpr int64_t kColumns = 256;  // executed; every column of these plans has one order

std::vector<uint32_t> BitsUnder(const GemmData& data, const RowOrders& orders) {
  std::vector<uint32_t> bits;
  for (const float value : CaseResults(data, orders))
    bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

class Case01Execution : public CaseTest {
 protected:
  Case01Execution() : CaseTest("case-01-anchor-row-over-m.yaml") {}
  void SetUp() override {
    CaseTest::SetUp();
    if (IsSkipped()) return;
    heights_ = setup_["m_values"].as<std::vector<int64_t>>();
    n_ = Number("gemm", "N");
    k_ = Number("gemm", "K");
    row_ = CaseGemmData(1, std::min(kColumns, n_), k_);
  }
  RowOrders OrdersAt(const std::string& policy, int64_t m, int64_t row = 0) const {
    return OrdersOfRow(CaseGemmPlan(policy, m, n_, k_, kDevice), row);
  }

  std::vector<int64_t> heights_;
  int64_t n_ = 0, k_ = 0;
  GemmData row_;
};

TEST_F(Case01Execution, InsideAClassTheBitsAreEqualAndBetweenClassesTheyDiffer) {
  for (const char* policy : {"textbook", "{name: gemv, m_max: 1}", "cutlass_splitk"}) {
    std::map<Digest, std::vector<uint32_t>> of_class;
    for (const int64_t m : heights_) {
      const RowOrders orders = OrdersAt(policy, m);
      const std::vector<uint32_t> bits = BitsUnder(row_, orders);
      const auto [found, fresh] = of_class.try_emplace(orders.klass, bits);
      EXPECT_EQ(bits, found->second) << policy << " M " << m;
    }
    EXPECT_GT(of_class.size(), 1u) << policy;
    EXPECT_LT(of_class.size(), heights_.size()) << policy;
    for (auto a = of_class.begin(); a != of_class.end(); ++a) {
      for (auto b = std::next(a); b != of_class.end(); ++b) {
        EXPECT_NE(a->second, b->second) << policy;
      }
    }
  }
}

// The witness that classes are not ordered by M: qwen3-8b's down projection on an H100, as NVIDIA's
// library chooses for it.
TEST_F(Case01Execution, ALargerHeightCanHaveTheBitsOfASmallerOne) {
  const std::string path = ReferencePath("heuristics/nvmmh/generic-tn.flags8.csv.gz");
  BATCHVAR_SKIP_WITHOUT(path);
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kTable);
  spec.table_path = path;
  spec.layout = TableLayout::kTn;
  ASSERT_TRUE(LoadGemmTables(&spec).ok());
  const auto policy = MakeGemmPolicy(spec);
  constexpr int64_t kN = 4096, kK = 12288;
  const GemmData row = CaseGemmData(1, 64, kK);
  std::map<int64_t, std::vector<uint32_t>> bits;
  for (const int64_t m : {72, 88, 104, 136}) {
    const GemmShape shape{m, kN, kK, DType::kBf16};
    const std::string missing = policy->Missing(shape, CaseDevice());
    if (!missing.empty()) GTEST_SKIP() << path << " has no such cell: " << missing;
    bits[m] = BitsUnder(row, OrdersOfRow(policy->Plan(shape, CaseDevice()), 0));
  }
  EXPECT_EQ(bits[72], bits[104]);
  EXPECT_EQ(bits[88], bits[136]);
  EXPECT_NE(bits[72], bits[88]);
}

TEST_F(Case01Execution, ThePlaceInTheBatchChangesNoBit) {
  for (const char* policy :
       {"batch_invariant", "textbook", "{name: cutlass_splitk, split_k: 4, mode: serial}",
        "{name: cutlass_splitk, split_k: 4, mode: parallel}"}) {
    for (const int64_t m : heights_) {
      const std::vector<uint32_t> first = BitsUnder(row_, OrdersAt(policy, m));
      for (const int64_t row : {m / 2, m - 1}) {
        EXPECT_EQ(BitsUnder(row_, OrdersAt(policy, m, row)), first) << policy << " M " << m;
      }
    }
  }
}

TEST_F(Case01Execution, UnderStreamKThePlaceCanMatter) {
  const char* policy = "{name: stream_k, tile_m: 16}";
  const GemmData whole_row = CaseGemmData(1, n_, k_);
  int matters = 0;
  for (const int64_t m : heights_) {
    const RowOrders first = OrdersAt(policy, m), last = OrdersAt(policy, m, m - 1);
    const bool same = BitsUnder(whole_row, first) == BitsUnder(whole_row, last);
    EXPECT_EQ(same, first.klass == last.klass) << m;
    matters += same ? 0 : 1;
  }
  EXPECT_GT(matters, 0);
}

TEST_F(Case01Execution, OnePinnedDecompositionGivesAllHeightsTheSameBits) {
  for (const char* policy : {"batch_invariant", "{name: cutlass_splitk, split_k: 4, mode: serial}",
                             "{name: gemv, m_max: 100000}"}) {
    const std::vector<uint32_t> one = BitsUnder(row_, OrdersAt(policy, 1));
    for (const int64_t m : heights_) {
      EXPECT_EQ(BitsUnder(row_, OrdersAt(policy, m)), one) << policy << " M " << m;
    }
  }
}

}  // namespace
}  // namespace batchvar
