// Tokenizers: the merging order, cutting, special tokens, bytes that are no text, and what a broken
// file says. Ids of published tokenizers: tests/golden/golden_model_tokenizers.cc.
#include "kernels/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/tokenizer/byte_alphabet.h"
#include "kernels/tokenizer/llama2c_tokenizer.h"
#include "kernels/tokenizer/merge_symbols.h"
#include "kernels/tokenizer/tokenizer_json.h"
#include "sim/base/rng.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The 256 bytes as ids 0 to 255, then one token for each merge, then "<|end|>".
Json SmallTokenizer(const std::vector<std::pair<std::string, std::string>>& merges,
                    const Json& pre_tokenizer) {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[ByteCharacter(static_cast<uint8_t>(byte))] = byte;
  }
  Json list = Json::array();
  int id = 256;
  for (const auto& [left, right] : merges) {
    vocabulary[left + right] = id++;
    list.push_back(Json::array({left, right}));
  }
  return {{"added_tokens", {{{"id", id}, {"content", "<|end|>"}, {"special", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", pre_tokenizer},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", list}}}};
}

Json ByteLevel(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", use_regex}};
}

Json SplitThenBytes(const std::string& pattern, const std::string& behavior, bool invert) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"},
             {"pattern", {{"Regex", pattern}}},
             {"behavior", behavior},
             {"invert", invert}},
            ByteLevel(false)}}};
}

std::vector<int32_t> Ids(const Json& tokenizer, std::string_view text) {
  const auto read = ReadTokenizerJson("t.json", tokenizer.dump());
  EXPECT_TRUE(read.ok()) << read.status();
  if (!read.ok()) return {};
  const auto ids = (*read)->Encode(text);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.ok() ? *ids : std::vector<int32_t>{};
}

std::string ErrorOf(const std::string& text) {
  const auto read = ReadTokenizerJson("t.json", text);
  EXPECT_FALSE(read.ok());
  if (read.ok()) return {};
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  return std::string(read.status().message());
}

TEST(ByteAlphabet, EveryByteHasACharacterOfItsOwn) {
  std::string all, written;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
    written += ByteCharacter(static_cast<uint8_t>(byte));
  }
  EXPECT_EQ(BytesOfCharacters(written), all);
  EXPECT_EQ(ByteCharacter(' '), "Ġ");
  EXPECT_EQ(ByteCharacter('\n'), "Ċ");
  EXPECT_EQ(BytesOfCharacters("a b"), std::nullopt);  // a blank is not of the alphabet
  EXPECT_EQ(BytesOfCharacters("語"), std::nullopt);
}

TEST(ByteAlphabet, WhatIsNotUtf8IsEscaped) {
  EXPECT_EQ(EscapeInvalidUtf8("caf\xc3\xa9 \xe2\x82"), "caf\xc3\xa9 \\xe2\\x82");
  EXPECT_EQ(EscapeInvalidUtf8("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(EscapeInvalidUtf8("\xf4\x8f\xbf\xbf\xf4\x90"), "\xf4\x8f\xbf\xbf\\xf4\\x90");
}

// The definition, without a heap: the best pair of all, again and again.
template <typename Find>
std::vector<int32_t> MergeOneByOne(std::vector<int32_t> ids, const Find& find) {
  while (true) {
    std::optional<Merge> best;
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const std::optional<Merge> merge = find(ids[i], ids[i + 1]);
      if (merge && (!best || merge->rank < best->rank)) {
        best = merge;
        at = i;
      }
    }
    if (!best) return ids;
    ids[at] = best->id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(MergeSymbols, EqualsTheDefinition) {
  RandomStream random(7, "merge_symbols_test");
  const auto below = [&random](int32_t n) {
    return static_cast<int32_t>(random.NextBelow(static_cast<uint64_t>(n)));
  };
  for (int round = 0; round < 300; ++round) {
    const int32_t symbols = 2 + below(4);
    std::map<std::pair<int32_t, int32_t>, Merge> merges;
    for (int32_t id = symbols; id < symbols + 12; ++id) {
      const std::pair<int32_t, int32_t> pair = {below(id), below(id)};
      // Few ranks, so that ties between different pairs occur.
      merges.emplace(pair, Merge{static_cast<double>(below(6)), id});
    }
    const auto find = [&](int32_t left, int32_t right) -> std::optional<Merge> {
      const auto found = merges.find({left, right});
      if (found == merges.end()) return std::nullopt;
      return found->second;
    };
    std::vector<int32_t> ids(static_cast<size_t>(below(60)));
    for (int32_t& id : ids) id = below(symbols);
    ASSERT_EQ(MergeSymbols(ids, find), MergeOneByOne(ids, find)) << "round " << round;
  }
}

TEST(ByteLevelBpe, MergesInTheOrderOfTheListInsidePieces) {
  const Json tokenizer =
      SmallTokenizer({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"Ġ", "a"}}, ByteLevel(true));
  EXPECT_THAT(Ids(tokenizer, "abc"), ElementsAre(258));  // b+c comes before a+b
  EXPECT_THAT(Ids(tokenizer, "ab"), ElementsAre(257));
  EXPECT_THAT(Ids(tokenizer, "b c"), ElementsAre('b', ' ', 'c'));  // not across pieces
  EXPECT_THAT(Ids(tokenizer, "b  a"), ElementsAre('b', ' ', 259));
  EXPECT_THAT(Ids(tokenizer, ""), ElementsAre());
}

TEST(ByteLevelBpe, SpecialTokensAreCutOutFirst) {
  const Json tokenizer = SmallTokenizer({{"<", "|"}}, ByteLevel(true));
  EXPECT_THAT(Ids(tokenizer, "a<|end|><|end|>b<|en"),
              ElementsAre('a', 257, 257, 'b', 256, 'e', 'n'));
}

TEST(ByteLevelBpe, DigitsSplitAndPrefix) {
  const std::vector<std::pair<std::string, std::string>> merges = {{"1", "2"}, {"x", "y"}};
  const auto digits = [&](bool individual) {
    return SmallTokenizer(
        merges, {{"type", "Sequence"},
                 {"pretokenizers",
                  {{{"type", "Digits"}, {"individual_digits", individual}}, ByteLevel(true)}}});
  };
  EXPECT_THAT(Ids(digits(true), "x12"), ElementsAre('x', '1', '2'));
  EXPECT_THAT(Ids(digits(false), "x12"), ElementsAre('x', 256));
  EXPECT_THAT(Ids(SmallTokenizer(merges, SplitThenBytes("y", "Isolated", false)), "xyx"),
              ElementsAre('x', 'y', 'x'));
  EXPECT_THAT(Ids(SmallTokenizer(merges, SplitThenBytes("[a-z]+", "Removed", true)), "xy 12xy"),
              ElementsAre(257, 257));
  Json prefixed = ByteLevel(true);
  prefixed["add_prefix_space"] = true;
  EXPECT_THAT(Ids(SmallTokenizer(merges, prefixed), "xy"), ElementsAre(' ', 257));
}

TEST(ByteLevelBpe, WholePiecesFirstWhereTheModelSaysSo) {
  // "abc" is a token that no merge reaches, as in Llama 3's vocabulary.
  Json tokenizer = SmallTokenizer({{"a", "b"}}, ByteLevel(true));
  tokenizer["model"]["vocab"]["abc"] = 300;
  EXPECT_THAT(Ids(tokenizer, "abc"), ElementsAre(256, 'c'));
  tokenizer["model"]["ignore_merges"] = true;
  EXPECT_THAT(Ids(tokenizer, "abc"), ElementsAre(300));
}

TEST(ByteLevelBpe, TextThatTheVocabularyCannotWriteIsAnError) {
  Json tokenizer = SmallTokenizer({}, ByteLevel(true));
  tokenizer["model"]["vocab"].erase(ByteCharacter(4));
  auto read = ReadTokenizerJson("t.json", tokenizer.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT((*read)->Encode("a\x04").status().message(), HasSubstr("0x04"));

  tokenizer = SmallTokenizer({}, ByteLevel(true));
  tokenizer["normalizer"] = {{"type", "NFC"}};
  read = ReadTokenizerJson("t.json", tokenizer.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE((*read)->Encode("caf\xc3\xa9").ok());
  EXPECT_THAT((*read)->Encode("cafe\xcc\x81").status().message(), HasSubstr("NFC"));
}

TEST(ByteLevelBpe, IdsOutsideOfTheVocabularyMeanNoText) {
  const auto read = ReadTokenizerJson("t.json", SmallTokenizer({}, ByteLevel(true)).dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->vocab_size(), 257);
  EXPECT_EQ((*read)->TokenBytes(257), "");
  EXPECT_EQ((*read)->TokenBytes(-1), "");
  EXPECT_EQ((*read)->Decode(std::vector<int32_t>{0xe2, 0x82, 0xac, 256}), "€<|end|>");
}

// The model that comes with batchvar: the prompts of its README, and any bytes at all.
TEST(EmbeddedTokenizer, EveryTextComesBack) {
  const auto read = ReadTokenizer(ProjectPath("configs/weights/batchvar_tiny/tokenizer.json"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->vocab_size(), 512);
  std::vector<std::string> texts = {"Explain a write-ahead log.", "Count from 1 to 400.",
                                    "naïve 日本語\r\n\t 12.5 don't", "<|endoftext|>A"};
  RandomStream random(11, "embedded_tokenizer_test");
  for (int i = 0; i < 200; ++i) {
    std::string bytes(random.NextBelow(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.NextBelow(256));
    texts.push_back(bytes);
  }
  for (const std::string& text : texts) {
    const auto ids = (*read)->Encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ((*read)->Decode(*ids), text);
  }
  const auto prompt = (*read)->Encode("Explain a write-ahead log.");
  ASSERT_TRUE(prompt.ok());
  EXPECT_LT(prompt->size(), 16u);  // words, not bytes
}

TEST(TokenizerFile, BrokenJsonNamesTheFieldOrTheLine) {
  EXPECT_THAT(ErrorOf("{\n\"model\": {"), HasSubstr("t.json:2"));
  const Json good = SmallTokenizer({{"a", "b"}}, ByteLevel(true));
  const auto broken = [&](const std::string& pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    return ErrorOf(json.dump());
  };
  EXPECT_THAT(broken("/model", 1), HasSubstr("model: must be an object"));
  EXPECT_THAT(broken("/model/type", "Unigram"), HasSubstr("model.type"));
  EXPECT_THAT(broken("/model/byte_fallback", true), HasSubstr("model.byte_fallback"));
  EXPECT_THAT(broken("/model/vocab/a", -1), HasSubstr("model.vocab[\"a\"]"));
  EXPECT_THAT(broken("/model/vocab/a", 98), HasSubstr("another token"));
  EXPECT_THAT(broken("/model/vocab/語", 400), HasSubstr("byte alphabet"));
  EXPECT_THAT(broken("/model/merges", 3), HasSubstr("model.merges"));
  EXPECT_THAT(broken("/model/merges/0", "a  b"), HasSubstr("model.merges[0]"));
  EXPECT_THAT(broken("/model/merges/0", "a q"), HasSubstr("needs the token \"aq\""));
  EXPECT_THAT(broken("/added_tokens/0/lstrip", true), HasSubstr("added_tokens[0].lstrip"));
  EXPECT_THAT(broken("/added_tokens/0/id", "x"), HasSubstr("added_tokens[0].id"));
  EXPECT_THAT(broken("/normalizer", {{"type", "Lowercase"}}), HasSubstr("normalizer"));
  EXPECT_THAT(broken("/pre_tokenizer", nullptr), HasSubstr("pre_tokenizer"));
  EXPECT_THAT(broken("/pre_tokenizer", {{"type", "Metaspace"}}), HasSubstr("Metaspace"));
  EXPECT_THAT(broken("/pre_tokenizer", SplitThenBytes("(", "Isolated", false)),
              HasSubstr("regular expression"));
  EXPECT_THAT(broken("/pre_tokenizer", SplitThenBytes("a", "MergedWithNext", false)),
              HasSubstr("pre_tokenizer.pretokenizers[0].behavior"));
  const Json sequence = {{"type", "Sequence"}, {"pretokenizers", {ByteLevel(true)}}};
  EXPECT_THAT(broken("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {sequence}}}),
              HasSubstr("inside a sequence"));
}

TEST(TokenizerFile, MissingFileIsAnInputError) {
  const auto read = ReadTokenizer(ProjectPath("configs/weights/no_such_file"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(read.status().message(), HasSubstr("no_such_file"));
}

// A table with the special pieces, all bytes, and `pieces` with their scores.
std::string Llama2cTable(const std::vector<std::pair<std::string, float>>& pieces) {
  std::string table;
  const auto put = [&table](const auto& value) {
    table.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto piece = [&](const std::string& text, float score) {
    put(score);
    put(static_cast<int32_t>(text.size()));
    table += text;
  };
  put(int32_t{16});
  for (const char* special : {"<unk>", "\n<s>\n", "\n</s>\n"}) piece(special, 0);
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    piece(text, 0);
  }
  for (const auto& [text, score] : pieces) piece(text, score);
  return table;
}

TEST(Llama2cTokenizer, HighestScoreThenLeftmostAndBytesForTheRest) {
  const std::string table = Llama2cTable(
      {{" ", -9}, {"a", -8}, {"b", -7}, {"ab", -1}, {"ba", -2}, {"aa", -3}, {" a", -4}});
  const auto read = ReadLlama2cTokenizer("t.bin", table);
  ASSERT_TRUE(read.ok()) << read.status();
  const int32_t blank = 259, a = 260, ab = 262, aa = 264;
  EXPECT_THAT(*(*read)->Encode("aaab"), ElementsAre(blank, aa, ab));
  EXPECT_THAT(*(*read)->Encode("aaa"), ElementsAre(blank, aa, a));
  EXPECT_THAT(*(*read)->Encode("é"), ElementsAre(blank, 0xc3 + 3, 0xa9 + 3));
  EXPECT_THAT(*(*read)->Encode(""), ElementsAre());
  EXPECT_EQ((*read)->Decode(std::vector<int32_t>{1, blank, ab, blank, a, 2}), "ab a");
  EXPECT_EQ((*read)->Decode(*(*read)->Encode("  b é\n")), "  b é\n");
  EXPECT_EQ((*read)->TokenBytes(0xc3 + 3), "\xc3");
}

TEST(Llama2cTokenizer, BrokenTablesAreErrors) {
  const std::string table = Llama2cTable({{" ", -9}});
  for (const size_t size : {size_t{2}, size_t{9}, table.size() - 1, table.size() - 12}) {
    const auto read = ReadLlama2cTokenizer("t.bin", std::string_view(table).substr(0, size));
    ASSERT_FALSE(read.ok()) << size;
    EXPECT_THAT(read.status().message(), HasSubstr("t.bin: piece"));
  }
  const auto text = ReadLlama2cTokenizer("t.bin", "this is no table of pieces at all");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace batchvar
