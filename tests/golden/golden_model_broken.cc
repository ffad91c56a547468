// The folders that are broken in exactly one way each: what expected.json says of them holds for
// both loaders. One line that names the fault, as unreadable input; nothing is computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/decoder/decoder_weights.h"
#include "kernels/decoder/float_decoder.h"
#include "nlohmann/json.hpp"
#include "tests/test_data.h"

namespace batchvar {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

void CheckError(const Json& item, const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;  // exit code 4
  const std::string message(status.message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  bool names = false;
  for (const Json& name : item["message_names_any_of"]) {
    names = names || message.find(name.get<std::string>()) != std::string::npos;
  }
  EXPECT_TRUE(names) << message;
}

void CheckLogits(const Json& item, FloatDecoder decoder) {
  std::vector<float> logits;
  for (const Json& id : item["prompt_ids"]) logits = decoder.Step(id.get<int64_t>()).logits;
  ASSERT_FALSE(logits.empty());
  for (size_t i = 0; i < item["last_position_top5_ids"].size(); ++i) {
    EXPECT_NEAR(logits[item["last_position_top5_ids"][i].get<int64_t>()],
                item["last_position_top5_logits"][i].get<double>(), 1e-3);
  }
}

TEST(GoldenBrokenModels, BehaveAsExpected) {
  const std::string list = ModelsPath("tiny/broken/expected.json");
  BATCHVAR_SKIP_WITHOUT(list);
  int errors = 0, loaded = 0;
  for (const Json& item : Json::parse(ReadFileOrDie(list))) {
    const std::string folder = ModelsPath("tiny/broken/" + item["name"].get<std::string>());
    SCOPED_TRACE(folder);
    const auto packed = LoadDecoderWeights(folder, DType::kBf16, 1);
    absl::StatusOr<FloatDecoder> plain = FloatDecoder::Load(folder);
    EXPECT_EQ(packed.status(), plain.status());
    const auto expect = item["expect"].get<std::string>();
    if (expect == "load") {
      ASSERT_TRUE(plain.ok()) << plain.status();
      CheckLogits(item, *std::move(plain));
      ++loaded;
    } else if (expect == "error" || !plain.ok()) {
      CheckError(item, plain.status());
      ++errors;
    } else {
      // "error or load", "error or warning": this loader has chosen errors for all of them.
      ADD_FAILURE() << "loads";
    }
  }
  EXPECT_EQ(loaded, 2);
  EXPECT_GE(errors, 30);
}

}  // namespace
}  // namespace batchvar
