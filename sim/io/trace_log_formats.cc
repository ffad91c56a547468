// llmservingsim (and the vLLM logs of the same project) and jsonl, the project's own format.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "sim/io/json_row.h"
#include "sim/io/trace_format.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr int kSeconds = 0;  // see ReadTimeNs
constexpr int kNanoseconds = 9;

// A workload has arrival_time_ns from its own origin, a log arrival_time in seconds since 1970. The
// first row decides for the file: times of two origins must never meet.
class LlmServingSimFormat : public TraceFormat {
 public:
  absl::Status ReadRow(const RowPlace& place, std::string_view line, TraceRow* row) override {
    Request& request = row->request;
    if (absl::Status status = json_.Parse(place, line); !status.ok()) return status;
    if (json_.Find("sub_requests") != nullptr) {
      return place.Error("sub_requests",
                         "an agent session with several requests in one row; only "
                         "the flat form is read");
    }
    if (!decided_) {
      is_log_ = json_.Find("arrival_time_ns") == nullptr && json_.Find("arrival_time") != nullptr;
      decided_ = true;
    }
    absl::Status status =
        is_log_ ? json_.TimeNs(place, "arrival_time", kSeconds, &request.arrival_ns)
                : json_.TimeNs(place, "arrival_time_ns", kNanoseconds, &request.arrival_ns);
    if (status.ok()) status = json_.Tokens(place, "input_toks", &request.prompt_tokens);
    if (status.ok()) status = json_.Tokens(place, "output_toks", &request.output_tokens);
    if (status.ok()) status = json_.Name(place, "request_id", &request.id);
    if (status.ok()) status = json_.Name(place, "session_id", &request.session);
    return status;
  }

  const char* IdField() const override { return "request_id"; }

 private:
  JsonRow json_;
  bool decided_ = false;
  bool is_log_ = false;
};

class JsonlFormat : public TraceFormat {
 public:
  absl::Status ReadRow(const RowPlace& place, std::string_view line, TraceRow* row) override {
    Request& request = row->request;
    absl::Status status = json_.Parse(place, line);
    if (status.ok()) status = CheckKeys(place);
    if (status.ok()) status = Text(place, "request_id", &request.id);
    if (status.ok() && request.id.empty()) status = place.Error("request_id", "missing");
    if (status.ok()) status = json_.TimeNs(place, "arrival_ns", kNanoseconds, &request.arrival_ns);
    if (status.ok()) status = json_.Tokens(place, "prompt_tokens", &request.prompt_tokens);
    if (status.ok()) status = json_.Tokens(place, "output_tokens", &request.output_tokens);
    if (status.ok()) status = Prefix(place, &request);
    if (status.ok()) status = Priority(place, &request.priority);
    if (status.ok()) status = Text(place, "session", &request.session);
    return status;
  }

  const char* IdField() const override { return "request_id"; }

 private:
  // This format is ours, so a key that it does not have is a typing error.
  absl::Status CheckKeys(const RowPlace& place) const {
    static const auto* known =
        new std::vector<std::string>{"request_id", "arrival_ns", "prompt_tokens", "output_tokens",
                                     "prefix",     "priority",   "session"};
    for (const JsonField& field : json_.fields()) {
      if (std::find(known->begin(), known->end(), field.key) != known->end()) continue;
      const std::string nearest = NearestName(field.key, *known);
      return place.Error(field.key, nearest.empty()
                                        ? "unknown key"
                                        : "unknown key; did you mean '" + nearest + "'?");
    }
    return absl::OkStatus();
  }

  absl::Status Text(const RowPlace& place, std::string_view key, std::string* text) const {
    const JsonField* field = json_.Find(key);
    if (field != nullptr && field->kind != JsonField::Kind::kString) {
      return place.Error(key, "not a string");
    }
    return json_.Name(place, key, text);
  }

  absl::Status Prefix(const RowPlace& place, Request* request) const {
    constexpr char kKey[] = "prefix";
    const JsonField* field = json_.Find(kKey);
    if (field == nullptr) return absl::OkStatus();
    const bool empty = field->kind == JsonField::Kind::kNumbers && field->numbers.empty();
    const bool pairs = field->kind == JsonField::Kind::kNumberLists &&
                       std::all_of(field->list_sizes.begin(), field->list_sizes.end(),
                                   [](size_t size) { return size == 2; });
    if (!empty && !pairs) {
      return place.Error(kKey, "not a list of [segment, length] pairs of whole numbers");
    }
    uint64_t left = static_cast<uint64_t>(request->prompt_tokens);
    for (size_t i = 0; i < field->numbers.size(); i += 2) {
      const uint64_t length = field->numbers[i + 1];
      if (length == 0) return place.Error(kKey, "a segment of length 0");
      if (length > left) return place.Error(kKey, "its lengths exceed prompt_tokens");
      request->prefix.push_back({field->numbers[i], static_cast<int32_t>(length)});
      left -= length;
    }
    return absl::OkStatus();
  }

  // The one number that may be negative.
  absl::Status Priority(const RowPlace& place, int32_t* priority) const {
    const JsonField* field = json_.Find("priority");
    if (field == nullptr) return absl::OkStatus();
    const char* end = field->text.data() + field->text.size();
    const auto [stop, error] = std::from_chars(field->text.data(), end, *priority);
    if (field->kind == JsonField::Kind::kNumber && error == std::errc() && stop == end) {
      return absl::OkStatus();
    }
    return place.Error("priority", "not a whole number of 32 bits");
  }

  JsonRow json_;
};

}  // namespace

std::unique_ptr<TraceFormat> MakeLlmServingSimFormat() {
  return std::make_unique<LlmServingSimFormat>();
}
std::unique_ptr<TraceFormat> MakeJsonlFormat() { return std::make_unique<JsonlFormat>(); }

}  // namespace batchvar
