#include "sim/io/json_row.h"

#include <nlohmann/json.hpp>

#include "sim/io/decimal_text.h"

namespace batchvar {

// Receives the events of nlohmann's event parser; false from any of them ends the parse. That
// parser is not recursive, so no depth of nesting can exhaust the stack.
class JsonRow::Handler {
 public:
  explicit Handler(JsonRow* row) : row_(row) { row_->used_ = 0; }

  bool null() { return Scalar(JsonField::Kind::kNull, ""); }
  bool boolean(bool) { return Scalar(JsonField::Kind::kBoolean, ""); }
  bool number_integer(int64_t value) {
    return Scalar(JsonField::Kind::kNumber, depth_ == 1 ? std::to_string(value) : "");
  }
  bool number_unsigned(uint64_t value) {
    if (depth_ == 1) return Scalar(JsonField::Kind::kNumber, std::to_string(value));
    if (depth_ == 0) return NotAnObject();
    Element(value);
    return true;
  }
  bool number_float(double, const std::string& text) {
    return Scalar(JsonField::Kind::kNumber, text);
  }
  bool string(std::string& text) { return Scalar(JsonField::Kind::kString, text); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // never in text

  bool start_object(size_t) {
    if (depth_ == 1) field_->kind = JsonField::Kind::kOther;
    if (depth_ > 1) SpoilList();
    ++depth_;
    return true;
  }
  bool key(std::string& name) {
    if (depth_ != 1) return true;
    for (const JsonField& field : row_->fields()) {
      if (field.key == name) return Fail(name, "this key stands twice in the object");
    }
    if (row_->used_ == row_->fields_.size()) row_->fields_.emplace_back();
    field_ = &row_->fields_[row_->used_++];
    field_->key = name;
    field_->text.clear();
    field_->numbers.clear();
    field_->list_sizes.clear();
    value_open_ = true;
    return true;
  }
  bool end_object() { return End(); }

  bool start_array(size_t) {
    if (depth_ == 0) return NotAnObject();
    if (depth_ == 1) {
      field_->kind = JsonField::Kind::kNumbers;
    } else if (depth_ == 2 && MayHoldLists()) {
      field_->kind = JsonField::Kind::kNumberLists;
      field_->list_sizes.push_back(0);
    } else {
      SpoilList();
    }
    ++depth_;
    return true;
  }
  bool end_array() { return End(); }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) {
    constexpr int kNumberOverflow = 406;  // nlohmann's documented id
    column_ = static_cast<int>(position);
    const std::string field = value_open_ && depth_ >= 1 ? field_->key : "";
    if (error.id == kNumberOverflow) return Fail(field, "out of range");
    return Fail(field, "");
  }

  std::string_view field() const { return failed_field_; }
  std::string_view message() const { return message_; }
  int column() const { return column_; }

 private:
  // Whether a list inside the open one keeps its shape a list of lists.
  bool MayHoldLists() const {
    return field_->kind == JsonField::Kind::kNumberLists ||
           (field_->kind == JsonField::Kind::kNumbers && field_->numbers.empty());
  }
  void SpoilList() {
    field_->kind = JsonField::Kind::kOther;
    field_->numbers.clear();
  }

  // A whole number inside the value of a key.
  void Element(uint64_t value) {
    if (field_->kind == JsonField::Kind::kNumbers && depth_ == 2) {
      field_->numbers.push_back(value);
    } else if (field_->kind == JsonField::Kind::kNumberLists && depth_ == 3) {
      field_->numbers.push_back(value);
      ++field_->list_sizes.back();
    } else {
      SpoilList();
    }
  }

  bool Scalar(JsonField::Kind kind, const std::string& text) {
    if (depth_ == 0) return NotAnObject();
    if (depth_ > 1) {
      SpoilList();
      return true;
    }
    field_->kind = kind;
    field_->text = text;
    value_open_ = false;
    return true;
  }

  bool End() {
    --depth_;
    if (depth_ == 1) value_open_ = false;
    return true;
  }

  bool NotAnObject() { return Fail("", "not a JSON object"); }

  bool Fail(std::string_view field, std::string_view message) {
    failed_field_ = field;
    message_ = message;
    return false;
  }

  JsonRow* row_;
  JsonField* field_ = nullptr;  // of the last key at depth 1
  int depth_ = 0;               // open objects and lists
  bool value_open_ = false;     // a key was read, its value is not complete
  std::string failed_field_;
  std::string message_;
  int column_ = 0;
};

namespace {

// Whether the parser gave up at byte `column` (from 1) inside NaN, Infinity or the like, which
// other programs write although JSON has no such numbers.
bool IsNotFinite(std::string_view line, size_t column) {
  constexpr std::string_view kEnds = " ,:[]{}";
  const size_t before = line.substr(0, column).find_last_of(kEnds);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const Decimal value =
      ParseDecimal(line.substr(begin, line.find_first_of(kEnds, begin) - begin), 0);
  return value.fault != nullptr && std::string_view(value.fault) == "not finite";
}

}  // namespace

absl::Status JsonRow::Parse(const RowPlace& place, std::string_view line) {
  if (line.find_first_of('{') != line.find_first_not_of(" \t")) {
    return place.Error("", "not a JSON object: " + Quoted(line));
  }
  Handler handler(this);
  if (nlohmann::json::sax_parse(line.begin(), line.end(), &handler)) return absl::OkStatus();
  std::string message(handler.message());
  const auto column = static_cast<size_t>(handler.column());
  if (message.empty() && column > line.size()) {
    message = "the JSON object does not end on its line: cut, or spread over several lines";
  } else if (message.empty()) {
    message = IsNotFinite(line, column) ? "not finite" : "broken JSON";
  }
  return place.Error(handler.field(), message, handler.column());
}

const JsonField* JsonRow::Find(std::string_view key) const {
  for (const JsonField& field : fields()) {
    if (field.key == key) return field.kind == JsonField::Kind::kNull ? nullptr : &field;
  }
  return nullptr;
}

absl::Status JsonRow::Number(const RowPlace& place, std::string_view key,
                             std::string_view* text) const {
  const JsonField* field = Find(key);
  if (field == nullptr) return place.Error(key, "missing");
  if (field->kind != JsonField::Kind::kNumber) return place.Error(key, "not a number");
  *text = field->text;
  return absl::OkStatus();
}

absl::Status JsonRow::Tokens(const RowPlace& place, std::string_view key, int32_t* tokens) const {
  std::string_view text;
  if (absl::Status status = Number(place, key, &text); !status.ok()) return status;
  return ReadTokens(place, key, text, tokens);
}

absl::Status JsonRow::TimeNs(const RowPlace& place, std::string_view key, int unit_digits,
                             int64_t* time_ns) const {
  std::string_view text;
  if (absl::Status status = Number(place, key, &text); !status.ok()) return status;
  return ReadTimeNs(place, key, text, unit_digits, time_ns);
}

absl::Status JsonRow::Name(const RowPlace& place, std::string_view key, std::string* text) const {
  text->clear();
  const JsonField* field = Find(key);
  if (field == nullptr) return absl::OkStatus();
  if (field->kind != JsonField::Kind::kString && field->kind != JsonField::Kind::kNumber) {
    return place.Error(key, "neither a string nor a number");
  }
  *text = field->text;
  return absl::OkStatus();
}

}  // namespace batchvar
