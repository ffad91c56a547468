#include "sim/io/trace_format.h"

#include <functional>

#include "sim/io/trace_reader.h"

namespace batchvar {
namespace {

constexpr int32_t kMooncakeBlock = 512;
constexpr int32_t kBailianBlock = 16;

struct Entry {
  const char* name;
  // Texts that all stand in the first line of such a file, and in no other format's.
  std::vector<std::string_view> marks;
  std::function<std::unique_ptr<TraceFormat>(int32_t)> make;
};

const std::vector<Entry>& Entries() {
  static const auto* entries = new std::vector<Entry>{
      {"azure", {"TIMESTAMP,", "ContextTokens"}, [](int32_t) { return MakeAzureFormat(); }},
      {"burstgpt", {"Timestamp", "Request tokens"}, [](int32_t) { return MakeBurstGptFormat(); }},
      // Before mooncake, whose keys it has too.
      {"bailian",
       {"{", "\"chat_id\"", "\"input_length\""},
       [](int32_t block) { return MakeBailianFormat(block > 0 ? block : kBailianBlock); }},
      {"mooncake",
       {"{", "\"timestamp\"", "\"input_length\"", "\"output_length\""},
       [](int32_t block) { return MakeMooncakeFormat(block > 0 ? block : kMooncakeBlock); }},
      {"vidur", {"num_prefill_tokens"}, [](int32_t) { return MakeVidurFormat(); }},
      {"llmservingsim", {"{", "\"input_toks\""}, [](int32_t) { return MakeLlmServingSimFormat(); }},
      {"jsonl",
       {"{", "\"arrival_ns\"", "\"prompt_tokens\""},
       [](int32_t) { return MakeJsonlFormat(); }},
  };
  return *entries;
}

}  // namespace

absl::Status TraceFormat::ReadHeader(const RowPlace&, std::string_view) { return absl::OkStatus(); }

absl::Status TraceFormat::Finish(const std::string&, std::vector<TraceRow>*) {
  return absl::OkStatus();
}

const std::vector<std::string>& TraceFormats() {
  static const auto* names = [] {
    auto* list = new std::vector<std::string>;
    for (const Entry& entry : Entries()) list->push_back(entry.name);
    return list;
  }();
  return *names;
}

std::unique_ptr<TraceFormat> MakeTraceFormat(std::string_view name, int32_t block_size) {
  for (const Entry& entry : Entries()) {
    if (entry.name == name) return entry.make(block_size);
  }
  return nullptr;
}

std::string FormatOfFirstLine(std::string_view line) {
  for (const Entry& entry : Entries()) {
    bool all = true;
    for (const std::string_view mark : entry.marks) {
      all = all && line.find(mark) != std::string_view::npos;
    }
    if (all) return entry.name;
  }
  return "";
}

}  // namespace batchvar
