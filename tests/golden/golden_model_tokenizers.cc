// Token ids of real tokenizers, case by case: stories260K (llama2.c) and SmolLM2 (tokenizer.json as
// tools/fetch_model writes it). The ids were made by other programs; each text must also come back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/tokenizer/tokenizer.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

// `ids_key` names the expected ids; `cases` has at least `least` cases.
void CheckCases(const std::string& tokenizer_path, const std::string& cases_path,
                const char* ids_key, size_t least) {
  const auto tokenizer = ReadTokenizer(tokenizer_path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const auto cases = nlohmann::json::parse(ReadFileOrDie(cases_path));
  ASSERT_GE(cases.size(), least);
  for (const auto& one : cases) {
    const auto text = one.at("text").get<std::string>();
    const auto expected = one.at(ids_key).get<std::vector<int32_t>>();
    const auto ids = (*tokenizer)->Encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(*ids, expected) << text;
    EXPECT_EQ((*tokenizer)->Decode(*ids), text);
  }
}

TEST(GoldenModelTokenizers, Stories260K) {
  const std::string tokenizer = ModelsPath("stories260K/tok512.bin");
  const std::string cases = ReferencePath("model/stories260K-tokenizer-cases.json");
  BATCHVAR_SKIP_WITHOUT(tokenizer);
  BATCHVAR_SKIP_WITHOUT(cases);
  CheckCases(tokenizer, cases, "ids_without_bos", 7);
}

TEST(GoldenModelTokenizers, SmolLm2) {
  const std::string tokenizer = ModelsPath("smollm2-135m/tokenizer.json");
  const std::string cases = ReferencePath("model/smollm2-tokenizer-cases.json");
  BATCHVAR_SKIP_WITHOUT(tokenizer);
  BATCHVAR_SKIP_WITHOUT(cases);
  CheckCases(tokenizer, cases, "ids", 20);
}

// The chat prompts' ids were made from text that their reference states, so decoding gives it back.
TEST(GoldenModelTokenizers, SmolLm2Prompts) {
  const std::string tokenizer_path = ModelsPath("smollm2-135m/tokenizer.json");
  const std::string prompts_path = ReferencePath("model/smollm2-prompts.json");
  BATCHVAR_SKIP_WITHOUT(tokenizer_path);
  BATCHVAR_SKIP_WITHOUT(prompts_path);
  const auto tokenizer = ReadTokenizer(tokenizer_path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const auto file = nlohmann::json::parse(ReadFileOrDie(prompts_path));
  int checked = 0;
  for (const auto& prompt : file.at("cases")) {
    const auto ids = prompt.at("ids").get<std::vector<int32_t>>();
    const std::string text = (*tokenizer)->Decode(ids);
    EXPECT_NE(text.find(prompt.at("user").get<std::string>()), std::string::npos) << text;
    const auto again = (*tokenizer)->Encode(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, ids);
    ++checked;
  }
  EXPECT_EQ(checked, 20);
}

}  // namespace
}  // namespace batchvar
