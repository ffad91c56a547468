// A test binary in which every test was skipped ends with 77, which ctest reports as "Skipped".
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& run = *testing::UnitTest::GetInstance();
  if (failed == 0 && run.successful_test_count() == 0 && run.skipped_test_count() > 0) return 77;
  return failed;
}
