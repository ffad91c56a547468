// mooncake and bailian: JSON lines whose prompts are lists of block hashes. Hashes are chained (the
// same id means the same block after the same prefix), so each id is one prefix segment.
#include <string>
#include <unordered_map>

#include "sim/base/time.h"
#include "sim/io/json_row.h"
#include "sim/io/trace_format.h"

namespace batchvar {
namespace {

constexpr int kSeconds = 0;  // see ReadTimeNs
constexpr int kMilliseconds = 3;

// hash_ids -> prefix. The last block may be partial, so the lengths sum to the prompt's.
absl::Status ReadBlocks(const RowPlace& place, const JsonRow& row, int32_t block_size,
                        Request* request) {
  constexpr char kKey[] = "hash_ids";
  const JsonField* field = row.Find(kKey);
  if (field == nullptr) return absl::OkStatus();
  if (field->kind != JsonField::Kind::kNumbers) {
    return place.Error(kKey, "not a list of whole numbers from 0 to 2^64 - 1");
  }
  const size_t needed = static_cast<size_t>(CeilDiv(request->prompt_tokens, int64_t{block_size}));
  if (field->numbers.size() != needed) {
    return place.Error(kKey, "has " + std::to_string(field->numbers.size()) + " ids, but " +
                                 std::to_string(request->prompt_tokens) + " tokens in blocks of " +
                                 std::to_string(block_size) + " need " + std::to_string(needed) +
                                 " (the block size is an option)");
  }
  request->prefix.reserve(needed);
  int32_t left = request->prompt_tokens;
  for (const uint64_t id : field->numbers) {
    const int32_t length = left < block_size ? left : block_size;
    request->prefix.push_back({id, length});
    left -= length;
  }
  return absl::OkStatus();
}

// What both formats have.
absl::Status ReadBlockRow(const RowPlace& place, const JsonRow& row, int time_unit,
                          int32_t block_size, Request* request) {
  absl::Status status = row.TimeNs(place, "timestamp", time_unit, &request->arrival_ns);
  if (status.ok()) status = row.Tokens(place, "input_length", &request->prompt_tokens);
  if (status.ok()) status = row.Tokens(place, "output_length", &request->output_tokens);
  if (status.ok()) status = ReadBlocks(place, row, block_size, request);
  return status;
}

class MooncakeFormat : public TraceFormat {
 public:
  explicit MooncakeFormat(int32_t block_size) : block_size_(block_size) {}

  absl::Status ReadRow(const RowPlace& place, std::string_view line, TraceRow* row) override {
    absl::Status status = json_.Parse(place, line);
    if (status.ok()) {
      status = ReadBlockRow(place, json_, kMilliseconds, block_size_, &row->request);
    }
    if (status.ok()) status = json_.Name(place, "session_id", &row->request.session);
    return status;
  }

 private:
  int32_t block_size_;
  JsonRow json_;
};

class BailianFormat : public TraceFormat {
 public:
  explicit BailianFormat(int32_t block_size) : block_size_(block_size) {}

  absl::Status ReadRow(const RowPlace& place, std::string_view line, TraceRow* row) override {
    Request& request = row->request;
    absl::Status status = json_.Parse(place, line);
    if (status.ok()) status = ReadBlockRow(place, json_, kSeconds, block_size_, &request);
    if (status.ok()) status = json_.Name(place, "chat_id", &request.id);
    if (!status.ok()) return status;
    if (request.id.empty()) return place.Error("chat_id", "missing");
    std::string parent;
    status = json_.Name(place, "parent_chat_id", &parent);
    parents_[request.id] = parent == kNoParent ? "" : parent;
    return status;
  }

  const char* IdField() const override { return "chat_id"; }

  // A request's session is the first chat of its chain of parents. The chain may leave the file
  // (which then begins in the middle of the conversation) or lead to a later line.
  absl::Status Finish(const std::string& file, std::vector<TraceRow>* rows) override {
    std::unordered_map<std::string, std::string> roots;
    for (TraceRow& row : *rows) {
      std::string chat = row.request.id;
      for (size_t steps = 0;; ++steps) {
        const auto known = roots.find(chat);
        if (known != roots.end()) chat = known->second;
        const auto parent = parents_.find(chat);
        if (parent == parents_.end() || parent->second.empty()) break;
        if (steps > parents_.size()) {
          return RowPlace{file, row.line, ""}.Error("parent_chat_id",
                                                    "leads back to the same chat");
        }
        chat = parent->second;
      }
      roots[row.request.id] = chat;
      row.request.session = std::move(chat);
    }
    return absl::OkStatus();
  }

 private:
  static constexpr char kNoParent[] = "-1";

  int32_t block_size_;
  JsonRow json_;
  std::unordered_map<std::string, std::string> parents_;  // by chat; empty: none
};

}  // namespace

std::unique_ptr<TraceFormat> MakeMooncakeFormat(int32_t block_size) {
  return std::make_unique<MooncakeFormat>(block_size);
}
std::unique_ptr<TraceFormat> MakeBailianFormat(int32_t block_size) {
  return std::make_unique<BailianFormat>(block_size);
}

}  // namespace batchvar
