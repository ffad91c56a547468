#include "sim/io/csv_table.h"

#include <algorithm>

namespace batchvar {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

bool CsvTable::TakeQuoted(std::string_view* rest, std::string_view* field) {
  size_t end = 1;
  bool doubled = false;
  for (;; end += 2) {
    end = rest->find('"', end);
    if (end == std::string_view::npos) return false;
    if (end + 1 >= rest->size() || (*rest)[end + 1] != '"') break;
    doubled = true;
  }
  *field = rest->substr(1, end - 1);
  rest->remove_prefix(end + 1);
  if (doubled) {
    std::string& text = unescaped_.emplace_back(*field);
    for (size_t at = text.find("\"\""); at != std::string::npos; at = text.find("\"\"", at + 1)) {
      text.erase(at, 1);
    }
    *field = text;
  }
  return true;
}

absl::Status CsvTable::Split(const RowPlace& place, std::string_view line) {
  fields_.clear();
  unescaped_.clear();
  std::string_view rest = line;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    std::string_view field;
    if (rest.starts_with('"')) {
      if (!TakeQuoted(&rest, &field)) {
        return place.Error("", "a quoted field does not end on its line");
      }
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
      if (!rest.empty() && !rest.starts_with(',')) {
        return place.Error("", "text follows the closing quote of a field");
      }
    } else {
      const size_t end = std::min(rest.find(','), rest.size());
      field = Trimmed(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    fields_.push_back(field);
    if (rest.empty()) return absl::OkStatus();
    rest.remove_prefix(1);  // the comma
  }
}

absl::Status CsvTable::ReadHeader(const RowPlace& place, std::string_view line) {
  if (absl::Status status = Split(place, line); !status.ok()) return status;
  columns_.assign(fields_.begin(), fields_.end());
  return absl::OkStatus();
}

int CsvTable::Find(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  return found == columns_.end() ? -1 : static_cast<int>(found - columns_.begin());
}

absl::Status CsvTable::Require(const RowPlace& place, std::string_view name, int* column,
                               std::string_view why) const {
  if (std::count(columns_.begin(), columns_.end(), name) > 1) {
    return place.Error(name, "two columns have this name");
  }
  *column = Find(name);
  if (*column >= 0) return absl::OkStatus();
  constexpr size_t kMaxShown = 20;
  std::string found;
  for (size_t i = 0; i < std::min(columns_.size(), kMaxShown); ++i) {
    found += (i == 0 ? "" : ", ") + Quoted(columns_[i]);
  }
  if (columns_.size() > kMaxShown) found += ", ...";
  return place.Error(
      name, "missing column " + Quoted(name) + std::string(why) + "; found columns " + found);
}

absl::Status CsvTable::ReadRow(const RowPlace& place, std::string_view line) {
  if (absl::Status status = Split(place, line); !status.ok()) return status;
  if (fields_.size() == columns_.size()) return absl::OkStatus();
  const std::string counts = "the row has " + std::to_string(fields_.size()) +
                             " fields, the header " + std::to_string(columns_.size());
  if (fields_.size() > columns_.size()) return place.Error("", counts);
  return place.Error(columns_[fields_.size()], "missing; " + counts);
}

}  // namespace batchvar
