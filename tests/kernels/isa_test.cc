#include "kernels/cpu/isa.h"

#include "gtest/gtest.h"

namespace batchvar {
namespace {

TEST(Isa, NamesReadBack) {
  for (const Isa isa : kAllIsas) {
    Isa parsed = isa == Isa::kScalar ? Isa::kAvx2 : Isa::kScalar;
    EXPECT_TRUE(ParseIsa(IsaName(isa), &parsed));
    EXPECT_EQ(parsed, isa);
  }
  Isa untouched = Isa::kAvx2;
  EXPECT_FALSE(ParseIsa("avx", &untouched));
  EXPECT_FALSE(ParseIsa("", &untouched));
  EXPECT_EQ(untouched, Isa::kAvx2);
}

TEST(Isa, TheBestIsOneThatTheCpuHas) {
  EXPECT_TRUE(HasIsa(Isa::kScalar));
  EXPECT_TRUE(HasIsa(BestIsa()));
  for (const Isa isa : kAllIsas) EXPECT_TRUE(isa <= BestIsa() || !HasIsa(isa));
}

}  // namespace
}  // namespace batchvar
