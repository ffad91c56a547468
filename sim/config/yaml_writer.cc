#include "sim/config/yaml_writer.h"

#include "sim/config/scalar_text.h"

namespace batchvar {
namespace {

constexpr int kIndentStep = 2;

bool IsPlainWord(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789./-";
  if (text.empty() || text.find_first_not_of(kLetters) != std::string_view::npos) return false;
  // A digit or sign first could be a number; a short word could be a boolean or null.
  const bool starts_with_letter = kLetters.find(text[0]) < kLetters.find('0');
  return starts_with_letter && text.size() > 5;
}

}  // namespace

std::string QuotedText(std::string_view text) {
  if (IsPlainWord(text)) return std::string(text);
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string FlowText(const ConfigNode& node) {
  std::string text;
  switch (node.kind) {
    case ConfigNode::Kind::kNull: return "null";
    case ConfigNode::Kind::kScalar: return node.quoted ? QuotedText(node.text) : node.text;
    case ConfigNode::Kind::kSequence:
      for (const ConfigNode& item : node.items) text += (text.empty() ? "" : ", ") + FlowText(item);
      return "[" + text + "]";
    case ConfigNode::Kind::kMap:
      for (const ConfigEntry& entry : node.entries) {
        text += (text.empty() ? "" : ", ") + entry.key + ": " + FlowText(entry.value);
      }
      return "{" + text + "}";
  }
  return text;
}

void YamlWriter::Open(std::string_view key) {
  Word(key, "");
  indent_ += kIndentStep;
}

void YamlWriter::Close() { indent_ -= kIndentStep; }

void YamlWriter::Word(std::string_view key, std::string_view word) {
  text_.append(static_cast<size_t>(indent_), ' ');
  text_ += key;
  text_ += ':';
  if (!word.empty()) text_ += ' ';
  text_ += word;
  text_ += '\n';
}

void YamlWriter::Text(std::string_view key, std::string_view text) { Word(key, QuotedText(text)); }

void YamlWriter::Integer(std::string_view key, int64_t value) { Word(key, std::to_string(value)); }

void YamlWriter::Number(std::string_view key, double value) { Word(key, NumberText(value)); }

void YamlWriter::Item(std::string_view word) {
  text_.append(static_cast<size_t>(indent_), ' ');
  text_ += "- ";
  text_ += word;
  text_ += '\n';
}

void YamlWriter::Bool(std::string_view key, bool value) { Word(key, value ? "true" : "false"); }

}  // namespace batchvar
