// case-09: five batch sizes, one answer (ggml-org/llama.cpp#3014). Sizes that take the same path
// have the same bits, however far apart; one that takes another path has not.
#include <map>

#include "sim/plan/order_digest.h"
#include "tests/cases/case_operands.h"

namespace batchvar {
namespace {

constexpr int64_t kN = 512, kK = 2048;
// Another dot-product path up to 16 rows, as in the case.
const char* const kPolicy = "{name: gemv, m_max: 16, then: batch_invariant}";

RowOrders OrdersAt(int64_t m) { return OrdersOfRow(CaseGemmPlan(kPolicy, m, kN, kK), 0); }

TEST(Case09Execution, SizesOnOnePathHaveTheSameBits) {
  const GemmData data = CaseGemmData(4, kN, kK);
  for (const int64_t m : {64, 128, 256, 512}) {
    EXPECT_EQ(CaseExecution(data, OrdersAt(32), OrdersAt(m)).difference.differ_fp32, 0) << m;
  }
}

TEST(Case09Execution, TheSizeOnAnotherPathDiffers) {
  const GemmData data = CaseGemmData(4, kN, kK);
  const BitsDifference difference = CaseExecution(data, OrdersAt(16), OrdersAt(32)).difference;
  EXPECT_GT(difference.differ_fp32, difference.outputs / 2);
}

TEST(Case09Execution, TheAnswerIsClassesOfSizes) {
  std::map<Digest, std::vector<int64_t>> sizes;
  for (const int64_t m : {16, 32, 64, 128, 256, 512}) sizes[OrdersAt(m).klass].push_back(m);
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[OrdersAt(16).klass], std::vector<int64_t>{16});
}

}  // namespace
}  // namespace batchvar
