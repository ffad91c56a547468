#include "sim/status/located_error.h"

#include <gtest/gtest.h>

namespace batchvar {
namespace {

TEST(LocatedError, MessageBeginsWithThePlace) {
  const absl::Status error = ConfigError({"a.yaml", 3, 5, "scheduler.block_size"}, "must be >= 1");
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(error.message()), "a.yaml:3:5: scheduler.block_size: must be >= 1");
}

TEST(LocatedError, PartsThatDoNotApplyAreLeftOut) {
  EXPECT_EQ(std::string(InputError({"t.csv", 7}, "cut short").message()), "t.csv:7: cut short");
  EXPECT_EQ(std::string(InputError({"t.csv"}, "missing").message()), "t.csv: missing");
  EXPECT_EQ(std::string(ConfigError({}, "no request 'x'").message()), "no request 'x'");
}

TEST(LocatedError, CarriesThePlaceForJson) {
  const Location where = LocationOf(InputError({"t.csv", 7, 2, "TIMESTAMP"}, "bad date"));
  EXPECT_EQ(where.file, "t.csv");
  EXPECT_EQ(where.line, 7);
  EXPECT_EQ(where.column, 2);
  EXPECT_EQ(where.field, "TIMESTAMP");
  EXPECT_EQ(LocationOf(absl::InternalError("ours")).file, "");
}

TEST(NearestName, SuggestsTypingErrorsOnly) {
  const std::vector<std::string> names = {"max_num_seqs", "max_num_batched_tokens", "seed"};
  EXPECT_EQ(NearestName("max_num_seq", names), "max_num_seqs");
  EXPECT_EQ(NearestName("sed", names), "seed");
  EXPECT_EQ(NearestName("temperature", names), "");
  EXPECT_EQ(NearestName("x", {}), "");
}

}  // namespace
}  // namespace batchvar
