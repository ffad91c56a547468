#include "sim/status/located_error.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "absl/strings/cord.h"
#include "absl/types/optional.h"

namespace batchvar {
namespace {

constexpr char kPayloadUrl[] = "batchvar/location";
constexpr char kUnknownKeyUrl[] = "batchvar/unknown-key";

// file \n line \n column \n field: none of them can hold a newline.
std::string Encode(const Location& where) {
  return where.file + '\n' + std::to_string(where.line) + '\n' + std::to_string(where.column) +
         '\n' + where.field;
}

absl::Status Located(absl::StatusCode code, const Location& where, std::string_view message) {
  std::string text;
  if (!where.file.empty()) {
    text += where.file;
    if (where.line > 0) text += ':' + std::to_string(where.line);
    if (where.column > 0) text += ':' + std::to_string(where.column);
    text += ": ";
  }
  if (!where.field.empty()) text += where.field + ": ";
  text += message;
  absl::Status status(code, text);
  status.SetPayload(kPayloadUrl, absl::Cord(Encode(where)));
  return status;
}

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

absl::Status ConfigError(const Location& where, std::string_view message) {
  return Located(absl::StatusCode::kInvalidArgument, where, message);
}

absl::Status InputError(const Location& where, std::string_view message) {
  return Located(absl::StatusCode::kDataLoss, where, message);
}

absl::Status UnknownKeyError(const Location& where, std::string_view message) {
  absl::Status status = ConfigError(where, message);
  status.SetPayload(kUnknownKeyUrl, absl::Cord("1"));
  return status;
}

bool IsUnknownKeyError(const absl::Status& status) {
  return status.GetPayload(kUnknownKeyUrl).has_value();
}

Location LocationOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return {};
  const std::string text(*payload);
  Location where;
  const size_t a = text.find('\n');
  const size_t b = text.find('\n', a + 1);
  const size_t c = text.find('\n', b + 1);
  where.file = text.substr(0, a);
  where.line = std::atoi(text.substr(a + 1, b - a - 1).c_str());
  where.column = std::atoi(text.substr(b + 1, c - b - 1).c_str());
  where.field = text.substr(c + 1);
  return where;
}

std::string NearestName(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = static_cast<int>(std::max<size_t>(2, word.size() / 3)) + 1;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace batchvar
