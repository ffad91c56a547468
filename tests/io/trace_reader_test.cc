// Every format, what it accepts and what it refuses. Options are in trace_options_test.cc.
#include "sim/io/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/digest.h"
#include "sim/status/located_error.h"
#include "tests/io/temp_file.h"

namespace batchvar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

absl::StatusOr<Trace> Read(const std::string& format, std::string_view text, int32_t block = 0) {
  const TempFile file(text);
  TraceOptions options;
  options.format = format;
  options.block_size = block;
  return ReadTrace(file.path(), options);
}

Trace ReadOrFail(const std::string& format, std::string_view text, int32_t block = 0) {
  absl::StatusOr<Trace> trace = Read(format, text, block);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return trace.ok() ? *std::move(trace) : Trace();
}

std::vector<int64_t> ArrivalsOf(const Trace& trace) {
  std::vector<int64_t> arrivals;
  for (const Request& request : trace.requests) arrivals.push_back(request.arrival_ns);
  return arrivals;
}

std::vector<std::string> IdsOf(const Trace& trace) {
  std::vector<std::string> ids;
  for (const Request& request : trace.requests) ids.push_back(request.id);
  return ids;
}

std::vector<std::string> SessionsOf(const Trace& trace) {
  std::vector<std::string> sessions;
  for (const Request& request : trace.requests) sessions.push_back(request.session);
  return sessions;
}

// The whole file is refused at that line and field, in one line of text.
void ExpectRefused(const std::string& format, std::string_view text, int line,
                   const std::string& field, const std::string& message) {
  SCOPED_TRACE(text);
  const absl::StatusOr<Trace> trace = Read(format, text);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LocationOf(trace.status()).line, line);
  EXPECT_EQ(LocationOf(trace.status()).field, field);
  EXPECT_THAT(std::string(trace.status().message()), HasSubstr(message));
  EXPECT_THAT(std::string(trace.status().message()), Not(HasSubstr("\n")));
}

constexpr char kAzure[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
constexpr char kBurst[] = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
constexpr char kVidur[] = "arrived_at,num_prefill_tokens,num_decode_tokens\n";

TEST(AzureTrace, ReadsTicksExactly) {
  const Trace trace = ReadOrFail("azure", std::string(kAzure) +
                                              "2024-02-29 23:59:59.9999999,10,1\n"
                                              "2024-03-01 00:00:00.0000000,20,2\n"
                                              "2024-03-01 00:00:01,30,3");
  EXPECT_THAT(ArrivalsOf(trace), ElementsAre(0, 100, 1'000'000'100));
  EXPECT_THAT(IdsOf(trace), ElementsAre("r0", "r1", "r2"));
  EXPECT_EQ(trace.requests[2].prompt_tokens, 30);
  EXPECT_EQ(trace.requests[2].output_tokens, 3);
  EXPECT_TRUE(trace.requests[2].prefix.empty());
  EXPECT_EQ(trace.counts.rows_read, 3);
  EXPECT_EQ(trace.counts.sessions, 0);
}

TEST(AzureTrace, ColumnsGoByName) {
  const Trace trace = ReadOrFail("azure",
                                 "\xef\xbb\xbfGeneratedTokens,note,\"TIMESTAMP\",ContextTokens\r\n"
                                 "\r\n"
                                 "7,\"a, b\",\"2024-01-01 00:00:00\",9\r\n");
  ASSERT_EQ(trace.requests.size(), 1u);
  EXPECT_EQ(trace.requests[0].prompt_tokens, 9);
  EXPECT_EQ(trace.requests[0].output_tokens, 7);
}

TEST(AzureTrace, RefusesBadRows) {
  const std::string head = std::string(kAzure) + "2024-01-01 00:00:00.0000000,1,1\n";
  const auto refused = [&](const std::string& row, const std::string& field,
                           const std::string& message) {
    ExpectRefused("azure", head + row + "\n", 3, field, message);
  };
  refused("2023-02-29 00:00:00.0000000,1,1", "TIMESTAMP", "day 29 is not in 1..28");
  refused("yesterday,1,1", "TIMESTAMP", "not a time of the form");
  refused(",1,1", "TIMESTAMP", "missing");
  refused("2024-01-01 00:00:00,-1,1", "ContextTokens", "negative: '-1'");
  refused("2024-01-01 00:00:00,1.5,1", "ContextTokens", "not a whole number: '1.5'");
  refused("2024-01-01 00:00:00,nan,1", "ContextTokens", "not finite");
  refused("2024-01-01 00:00:00,1,inf", "GeneratedTokens", "not finite");
  refused("2024-01-01 00:00:00,1,2147483648", "GeneratedTokens", "out of range");
  refused("2024-01-01 00:00:00,1,99999999999999999999", "GeneratedTokens", "out of range");
  refused("2024-01-01 00:00:00,1,", "GeneratedTokens", "missing");
  refused("2024-01-01 00:00:00,1", "GeneratedTokens", "missing");
  refused("2024-01-01 00:00:00,1,1,1", "", "the row has 4 fields, the header 3");
  refused("2024-01-01 00:00:00,\"1,1", "", "quoted field does not end");
}

TEST(AzureTrace, RefusesRenamedColumns) {
  ExpectRefused("azure", "TIMESTAMP,PromptTokens,GeneratedTokens\n", 1, "ContextTokens",
                "missing column 'ContextTokens'; found columns 'TIMESTAMP', 'PromptTokens', "
                "'GeneratedTokens'");
}

TEST(BurstGptTrace, ReadsPartsOneAndTwo) {
  const Trace trace = ReadOrFail("burstgpt", std::string(kBurst) +
                                                 "5,ChatGPT,472,18,490,Conversation log\n"
                                                 "5,GPT-4,10,1,11,API log\n"
                                                 "45,GPT-4,0,0,0,API log\n"
                                                 "46,GPT-4,3,0,3,API log\n"
                                                 "47,GPT-4,0,3,3,API log\n"
                                                 "48,GPT-4,4,3,7,API log\n");
  EXPECT_THAT(ArrivalsOf(trace), ElementsAre(0, 0, 43'000'000'000));
  EXPECT_THAT(IdsOf(trace), ElementsAre("r0", "r1", "r5"));  // by row, dropped ones counted
  EXPECT_THAT(trace.counts.dropped,
              ElementsAre(testing::Pair("zero_both", 1), testing::Pair("zero_output", 1),
                          testing::Pair("zero_prompt", 1)));
}

TEST(BurstGptTrace, ReadsPartThreeWithSessions) {
  const Trace trace = ReadOrFail(
      "burstgpt",
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
      "Type\n"
      "100.0,s-1,12,GPT-4,300,120,420,Conversation log\n"
      "130.0,,n/a,ChatGPT,90,60,150,API log\n"
      "171.5,s-1,0,GPT-4,730,55,785,Conversation log\n");
  EXPECT_THAT(ArrivalsOf(trace), ElementsAre(0, 30'000'000'000, 71'500'000'000));
  EXPECT_THAT(SessionsOf(trace), ElementsAre("s-1", "", "s-1"));
  EXPECT_EQ(trace.counts.sessions, 1);
}

TEST(VidurTrace, ReadsDecimalSecondsWithoutADouble) {
  const Trace trace = ReadOrFail("vidur", std::string(kVidur) +
                                              "1790000000.100000001,128,16\n"
                                              "1790000000.100000002,256,32\n"
                                              "1.79000000025e9,64,8\n");
  EXPECT_THAT(ArrivalsOf(trace), ElementsAre(0, 1, 149'999'999));
}

TEST(VidurTrace, RefusesFilesWithoutArrivals) {
  ExpectRefused("vidur",
                "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n1,2,3,4\n", 1,
                "arrived_at", "lengths only");
  ExpectRefused("vidur", std::string(kVidur) + "0.0,1,1\n-0.1,1,1\n", 3, "arrived_at", "negative");
  ExpectRefused("vidur", std::string(kVidur) + "0.0,1,1\nNaN,1,1\n", 3, "arrived_at", "not finite");
  ExpectRefused("vidur", std::string(kVidur) + "1e10,1,1\n", 2, "arrived_at", "out of range");
}

TEST(MooncakeTrace, HashIdsBecomeThePrefix) {
  const Trace trace = ReadOrFail(
      "mooncake",
      R"({"timestamp": 0, "input_length": 1100, "output_length": 4, )"
      R"("hash_ids": [7, 18446744073709551615, 9]})"
      "\n"
      R"({"hash_ids": [7, 8], "output_length": 5, "input_length": 1024, )"
      R"("timestamp": 3000.25, "x": {}})"
      "\n"
      R"({"timestamp": 3001, "input_length": 10, "output_length": 5, "hash_ids": null})"
      "\n"
      R"({"timestamp": 3002, "input_length": 10, "output_length": 5, "session_id": "u1"})"
      "\n");
  EXPECT_THAT(ArrivalsOf(trace), ElementsAre(0, 3'000'250'000, 3'001'000'000, 3'002'000'000));
  using S = PrefixSegment;
  EXPECT_THAT(trace.requests[0].prefix,
              ElementsAre(S{7, 512}, S{18446744073709551615u, 512}, S{9, 76}));
  EXPECT_THAT(trace.requests[1].prefix, ElementsAre(S{7, 512}, S{8, 512}));
  EXPECT_TRUE(trace.requests[2].prefix.empty());
  EXPECT_THAT(SessionsOf(trace), ElementsAre("", "", "", "u1"));
  EXPECT_EQ(trace.counts.block_refs, 5);
  EXPECT_EQ(trace.counts.distinct_blocks, 4);
}

TEST(MooncakeTrace, TheBlockSizeIsChecked) {
  const std::string row =
      R"({"timestamp": 1, "input_length": 40, "output_length": 4, "hash_ids": [0, 1, 2]})"
      "\n";
  ExpectRefused("mooncake", row, 1, "hash_ids", "has 3 ids, but 40 tokens in blocks of 512 need 1");
  const Trace trace = ReadOrFail("mooncake", row, 16);
  EXPECT_EQ(trace.requests[0].prefix.back(), (PrefixSegment{2, 8}));
}

TEST(MooncakeTrace, RefusesBadRows) {
  const std::string good = R"({"timestamp": 0, "input_length": 5, "output_length": 4})"
                           "\n";
  const auto refused = [&](const std::string& row, const std::string& field,
                           const std::string& message) {
    ExpectRefused("mooncake", good + row, 2, field, message);
  };
  refused(R"({"input_length": 5, "output_length": 4})", "timestamp", "missing");
  refused(R"({"timestamp": null, "input_length": 5, "output_length": 4})", "timestamp", "missing");
  refused(R"({"timestamp": "1", "input_length": 5, "output_length": 4})", "timestamp",
          "not a number");
  refused(R"({"timestamp": -1, "input_length": 5, "output_length": 4})", "timestamp", "negative");
  refused(R"({"timestamp": NaN, "input_length": 5, "output_length": 4})", "timestamp",
          "not finite");
  refused(R"({"timestamp": 1e300, "input_length": 5, "output_length": 4})", "timestamp",
          "out of range");
  refused(R"({"timestamp": 1, "output_length": 4})", "input_length", "missing");
  refused(R"({"timestamp": 1, "input_length": 5})", "output_length", "missing");
  refused(R"({"timestamp": 1, "input_length": 5.5, "output_length": 4})", "input_length",
          "not a whole number");
  refused(R"({"timestamp": 1, "input_length": 5, "output_length": 4, "hash_ids": [-1]})",
          "hash_ids", "not a list of whole numbers");
  refused(R"({"timestamp": 1, "input_length": 5, "output_length": 4, "hash_ids": 7})", "hash_ids",
          "not a list of whole numbers");
  refused(R"({"timestamp": 1, "input_length": 5, "output_length": 4, "hash_ids": []})", "hash_ids",
          "has 0 ids");
  refused(R"({"timestamp": 1, "input_length": 5, "outp)", "", "does not end on its line");
  refused("5 tokens", "", "not a JSON object");
}

TEST(BailianTrace, SessionsAreRootChats) {
  const auto row = [](int chat, const std::string& parent, const char* time) {
    return "{\"chat_id\": " + std::to_string(chat) + ", \"parent_chat_id\": " + parent +
           ", \"timestamp\": " + time +
           ", \"input_length\": 20, \"output_length\": 4, \"turn\": 1, \"hash_ids\": [5, 6]}\n";
  };
  // 9 hangs below 8, which comes later; 4's parent is not in the file.
  const Trace trace =
      ReadOrFail("bailian", row(1, "-1", "0.0") + row(9, "8", "0.25") + row(8, "1", "0.5") +
                                row(4, "3", "0.5") + row(5, "null", "0.75"));
  EXPECT_THAT(IdsOf(trace), ElementsAre("1", "9", "8", "4", "5"));
  EXPECT_THAT(SessionsOf(trace), ElementsAre("1", "1", "1", "3", "5"));
  EXPECT_THAT(ArrivalsOf(trace),
              ElementsAre(0, 250'000'000, 500'000'000, 500'000'000, 750'000'000));
  EXPECT_EQ(trace.counts.sessions, 3);
  EXPECT_THAT(trace.requests[0].prefix, ElementsAre(PrefixSegment{5, 16}, PrefixSegment{6, 4}));

  ExpectRefused("bailian", row(1, "2", "0.0") + row(2, "1", "0.0"), 1, "parent_chat_id",
                "leads back");
  ExpectRefused("bailian", row(1, "-1", "0.0") + row(1, "-1", "0.0"), 2, "chat_id",
                "'1' is the id of line 1 already");
  ExpectRefused("bailian", R"({"timestamp": 0, "input_length": 1, "output_length": 1})", 1,
                "chat_id", "missing");
}

TEST(LlmServingSimTrace, ReadsWorkloadsAndLogs) {
  const Trace workload = ReadOrFail(
      "llmservingsim",
      R"({"input_toks": 100, "output_toks": 5, "arrival_time_ns": 101537001, "input_tok_ids": [1]})"
      "\n"
      R"({"input_toks": 200, "output_toks": 6, "arrival_time_ns": 144370000})");
  EXPECT_THAT(ArrivalsOf(workload), ElementsAre(0, 42'832'999));
  EXPECT_THAT(IdsOf(workload), ElementsAre("r0", "r1"));
  const Trace log =
      ReadOrFail("llmservingsim", R"({"request_id": "b-0", "input_toks": 1, "output_toks": 5, )"
                                  R"("arrival_time": 1800000000.0827403, "queued_ts": 27.5})"
                                  "\n"
                                  R"({"request_id": "b-1", "input_toks": 2, "output_toks": 6, )"
                                  R"("arrival_time": 1800000000.3478317})");
  EXPECT_THAT(ArrivalsOf(log), ElementsAre(0, 265'091'400));
  EXPECT_THAT(IdsOf(log), ElementsAre("b-0", "b-1"));
}

TEST(LlmServingSimTrace, RefusesWhatItCannotReplay) {
  ExpectRefused("llmservingsim", R"({"session_id": "a", "sub_requests": [{"input_toks": 1}]})", 1,
                "sub_requests", "only the flat form is read");
  ExpectRefused("llmservingsim", R"({"input_toks": 1, "output_toks": 5})", 1, "arrival_time_ns",
                "missing");
  // Two origins in one file.
  ExpectRefused("llmservingsim",
                R"({"input_toks": 1, "output_toks": 5, "arrival_time_ns": 1})"
                "\n"
                R"({"input_toks": 1, "output_toks": 5, "arrival_time": 1800000000.5})",
                2, "arrival_time_ns", "missing");
  ExpectRefused("llmservingsim",
                R"({"request_id": "x", "input_toks": 1, "output_toks": 5, "arrival_time": 1})"
                "\n"
                R"({"request_id": "x", "input_toks": 1, "output_toks": 5, "arrival_time": 2})",
                2, "request_id", "'x' is the id of line 1 already");
  // A given id may meet one that we would give.
  ExpectRefused("llmservingsim",
                R"({"input_toks": 1, "output_toks": 5, "arrival_time": 1})"
                "\n"
                R"({"request_id": "r0", "input_toks": 1, "output_toks": 5, "arrival_time": 2})",
                2, "request_id", "'r0' is the id of line 1 already");
}

TEST(JsonlTrace, ReadsEveryKey) {
  const Trace trace = ReadOrFail(
      "jsonl",
      R"({"request_id":"a","arrival_ns":5,"prompt_tokens":12,"output_tokens":3})"
      "\n"
      R"({"request_id":"b","arrival_ns":4611686018427387909,"prompt_tokens":12,"output_tokens":3,)"
      R"("prefix":[[18446744073709551615,4],[2,8]],"priority":-3,"session":"s"})");
  EXPECT_THAT(IdsOf(trace), ElementsAre("a", "b"));
  EXPECT_THAT(ArrivalsOf(trace), ElementsAre(0, int64_t{1} << 62));
  EXPECT_EQ(trace.requests[1].priority, -3);
  EXPECT_EQ(trace.requests[1].session, "s");
  EXPECT_THAT(trace.requests[1].prefix,
              ElementsAre(PrefixSegment{18446744073709551615u, 4}, PrefixSegment{2, 8}));
}

TEST(JsonlTrace, RefusesBadRows) {
  const std::string start =
      R"({"request_id":"a","arrival_ns":5,"prompt_tokens":12,"output_tokens":3)";
  const auto refused = [&](const std::string& rest, const std::string& field,
                           const std::string& message) {
    ExpectRefused("jsonl", start + rest + "}\n", 1, field, message);
  };
  refused(R"(,"priorty":1)", "priorty", "unknown key; did you mean 'priority'?");
  refused(R"(,"comment":1)", "comment", "unknown key");
  refused(R"(,"two\nlines":1)", "two\\x0alines", "unknown key");
  refused(R"(,"prefix":[[1,8],[2,5]])", "prefix", "its lengths exceed prompt_tokens");
  refused(R"(,"prefix":[[1,18446744073709551615],[2,13]])", "prefix", "exceed prompt_tokens");
  refused(R"(,"prefix":[[1,0]])", "prefix", "length 0");
  refused(R"(,"prefix":[[1,2,3]])", "prefix", "not a list of [segment, length] pairs");
  refused(R"(,"prefix":[1,2])", "prefix", "not a list of [segment, length] pairs");
  refused(R"(,"prefix":[[-1,2]])", "prefix", "not a list of [segment, length] pairs");
  refused(R"(,"prefix":"x")", "prefix", "not a list of [segment, length] pairs");
  refused(R"(,"priority":1.5)", "priority", "not a whole number");
  refused(R"(,"priority":2147483648)", "priority", "not a whole number");
  refused(R"(,"priority":"1")", "priority", "not a whole number");
  refused(R"(,"session":3)", "session", "not a string");
  ExpectRefused("jsonl", start + "}\n" + start + "}\n", 2, "request_id", "is the id of line 1");
  ExpectRefused("jsonl", R"({"arrival_ns":5,"prompt_tokens":12,"output_tokens":3})", 1,
                "request_id", "missing");
  ExpectRefused("jsonl", R"({"request_id":7,"arrival_ns":5,"prompt_tokens":12,"output_tokens":3})",
                1, "request_id", "not a string");
  ExpectRefused("jsonl", R"({"request_id":"a","prompt_tokens":12,"output_tokens":3})", 1,
                "arrival_ns", "missing");
}

TEST(ReadTrace, AFileOfAnotherFormatIsNamed) {
  const std::string files[][2] = {
      {"azure", std::string(kAzure) + "2024-01-01 00:00:00,1,1\n"},
      {"burstgpt", std::string(kBurst) + "1,GPT-4,1,1,2,API log\n"},
      {"vidur", std::string(kVidur) + "0.0,1,1\n"},
      {"mooncake", R"({"timestamp": 0, "input_length": 20, "output_length": 4, "hash_ids": [1]})"},
      {"bailian", R"({"chat_id": 1, "parent_chat_id": -1, "timestamp": 0, "input_length": 20, )"
                  R"("output_length": 4, "hash_ids": [1, 2]})"},
      {"llmservingsim", R"({"input_toks": 1, "output_toks": 5, "arrival_time_ns": 1})"},
      {"jsonl", R"({"request_id":"a","arrival_ns":5,"prompt_tokens":12,"output_tokens":3})"},
  };
  for (const auto& [name, text] : files) {
    EXPECT_TRUE(Read(name, text).ok()) << name;
    for (const std::string& other : TraceFormats()) {
      if (other == name) continue;
      const absl::StatusOr<Trace> trace = Read(other, text);
      ASSERT_FALSE(trace.ok()) << name << " read as " << other;
      EXPECT_EQ(LocationOf(trace.status()).line, 1);
      EXPECT_THAT(std::string(trace.status().message()),
                  HasSubstr("the file looks like format '" + name + "', not '" + other + "'"));
    }
  }
  // Only the first row can be of another format; a later one is broken.
  const absl::StatusOr<Trace> later = Read("mooncake", files[3][1] + "\n" + files[5][1]);
  EXPECT_THAT(std::string(later.status().message()), Not(HasSubstr("looks like")));
}

TEST(ReadTrace, AnEmptyFileHasNoRequests) {
  for (const std::string& format : TraceFormats()) {
    ExpectRefused(format, "", 0, "", "no requests");
    ExpectRefused(format, "\n \n", 0, "", "no requests");
  }
  ExpectRefused("vidur", kVidur, 0, "", "no requests");
  ExpectRefused("vidur", std::string(kVidur) + "0,0,1\n0,5,0\n0,6,0\n", 0, "",
                "no requests: 2 rows dropped as zero_output, 1 rows dropped as zero_prompt");
}

TEST(ReadTrace, MessagesNameTheFileAsGiven) {
  TraceOptions options;
  options.format = "azure";
  const absl::Status status = ReadTrace("no/such//file.csv", options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "no/such//file.csv: cannot read: No such file or directory");
  EXPECT_EQ(LocationOf(status).file, "no/such//file.csv");
}

TEST(ReadTrace, ReadsGzipAndHashesTheStoredBytes) {
  const std::string packed = Gzip(std::string(kVidur) + "0.0,1,1\n0.5,2,2\n");
  const TempFile file(packed, ".csv.gz");
  TraceOptions options;
  options.format = "vidur";
  const absl::StatusOr<Trace> trace = ReadTrace(file.path(), options);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->requests.size(), 2u);
  EXPECT_EQ(trace->sha256, Sha256Hex(packed));
}

}  // namespace
}  // namespace batchvar
