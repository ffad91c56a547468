#include "sim/replay/gate_expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "sim/status/located_error.h"

namespace batchvar {
namespace {

using Node = GateExpression::Node;

constexpr int kMaxDepth = 100;  // of parentheses and nots: the parser is recursive

absl::Status ErrorAt(size_t character, const std::string& message) {
  return ConfigError({}, "character " + std::to_string(character) + ": " + message);
}

struct Token {
  enum class Kind { kEnd, kNumber, kText, kWord, kSymbol };
  Kind kind = Kind::kEnd;
  std::string text;
  size_t character = 1;
};

bool IsWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A number may have a sign: there is no arithmetic that a sign could belong to.
size_t EndOfNumber(const std::string& text, size_t at) {
  if (text[at] == '-') ++at;
  while (at < text.size() && (IsDigit(text[at]) || text[at] == '.')) ++at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    while (at < text.size() && IsDigit(text[at])) ++at;
  }
  return at;
}

absl::StatusOr<Token> NextToken(const std::string& text, size_t* position) {
  size_t at = text.find_first_not_of(" \t\r\n", *position);
  if (at == std::string::npos) return Token{Token::Kind::kEnd, "", text.size() + 1};
  Token token;
  token.character = at + 1;
  const char c = text[at];
  size_t end = at + 1;
  if (c == '"' || c == '\'') {
    end = text.find(c, at + 1);
    if (end == std::string::npos) return ErrorAt(at + 1, "a quote that is never closed");
    token.kind = Token::Kind::kText;
    token.text = text.substr(at + 1, end - at - 1);
    *position = end + 1;
    return token;
  }
  if (IsWordStart(c)) {
    token.kind = Token::Kind::kWord;
    while (end < text.size() && (IsWordStart(text[end]) || IsDigit(text[end]) || text[end] == '.'))
      ++end;
  } else if (IsDigit(c) || (c == '-' && end < text.size() && IsDigit(text[end]))) {
    token.kind = Token::Kind::kNumber;
    end = EndOfNumber(text, at);
  } else {
    token.kind = Token::Kind::kSymbol;
    const bool doubled = end < text.size() && text[end] == '=';
    if (doubled && std::string("=!<>").find(c) != std::string::npos) ++end;
  }
  token.text = text.substr(at, end - at);
  *position = end;
  return token;
}

const char* const kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};

bool IsComparison(const Token& token) {
  return token.kind == Token::Kind::kSymbol &&
         std::find(std::begin(kComparisons), std::end(kComparisons), token.text) !=
             std::end(kComparisons);
}

class Parser {
 public:
  explicit Parser(std::vector<Node>* nodes) : nodes_(nodes) {}

  absl::Status Read(const std::string& text) {
    size_t position = 0;
    while (tokens_.empty() || tokens_.back().kind != Token::Kind::kEnd) {
      absl::StatusOr<Token> token = NextToken(text, &position);
      if (!token.ok()) return token.status();
      tokens_.push_back(*std::move(token));
    }
    const absl::StatusOr<size_t> root = Or(0);
    if (!root.ok()) return root.status();
    if (Now().kind != Token::Kind::kEnd) return Unexpected();
    return absl::OkStatus();
  }

 private:
  const Token& Now() const { return tokens_[next_]; }
  bool At(Token::Kind kind, const char* text) const {
    return Now().kind == kind && Now().text == text;
  }

  absl::Status Unexpected() const {
    const Token& token = Now();
    if (token.kind == Token::Kind::kEnd) return ErrorAt(token.character, "something is missing");
    std::string message = "'" + token.text + "' was not expected";
    if (token.text == "=") message += "; equality is ==";
    if (token.text == "&") message += "; write and";
    if (token.text == "|") message += "; write or";
    if (token.text == "!") message += "; write not";
    if (IsComparison(token)) message += "; join two comparisons with and";
    return ErrorAt(token.character, message);
  }

  size_t Add(Node node) {
    nodes_->push_back(std::move(node));
    return nodes_->size() - 1;
  }

  absl::StatusOr<size_t> Joined(const char* word, Node::Kind kind, int depth) {
    const bool is_or = kind == Node::Kind::kOr;
    absl::StatusOr<size_t> left = is_or ? Joined("and", Node::Kind::kAnd, depth) : Not(depth);
    while (left.ok() && At(Token::Kind::kWord, word)) {
      const size_t character = tokens_[next_++].character;
      const absl::StatusOr<size_t> right =
          is_or ? Joined("and", Node::Kind::kAnd, depth) : Not(depth);
      if (!right.ok()) return right;
      left = Add({kind, {}, word, *left, *right, character});
    }
    return left;
  }

  absl::StatusOr<size_t> Or(int depth) { return Joined("or", Node::Kind::kOr, depth); }

  absl::StatusOr<size_t> Not(int depth) {
    if (depth > kMaxDepth) return ErrorAt(Now().character, "is nested too deeply");
    if (!At(Token::Kind::kWord, "not")) return Comparison(depth);
    const size_t character = tokens_[next_++].character;
    const absl::StatusOr<size_t> operand = Not(depth + 1);
    if (!operand.ok()) return operand;
    return Add({Node::Kind::kNot, {}, "not", *operand, 0, character});
  }

  absl::StatusOr<size_t> Comparison(int depth) {
    const absl::StatusOr<size_t> left = Operand(depth);
    if (!left.ok() || !IsComparison(Now())) return left;
    const Token op = tokens_[next_++];
    const absl::StatusOr<size_t> right = Operand(depth);
    if (!right.ok()) return right;
    return Add({Node::Kind::kCompare, {}, op.text, *left, *right, op.character});
  }

  absl::StatusOr<size_t> Operand(int depth) {
    const Token token = Now();
    if (At(Token::Kind::kSymbol, "(")) {
      ++next_;
      const absl::StatusOr<size_t> inner = Or(depth + 1);
      if (!inner.ok()) return inner;
      if (!At(Token::Kind::kSymbol, ")")) return Unexpected();
      ++next_;
      return inner;
    }
    Node node;
    node.character = token.character;
    if (token.kind == Token::Kind::kText) {
      node.value = token.text;
    } else if (token.kind == Token::Kind::kNumber) {
      double number = 0;
      const char* end = token.text.data() + token.text.size();
      const auto [stop, error] = std::from_chars(token.text.data(), end, number);
      if (error != std::errc() || stop != end) {
        return ErrorAt(token.character, "'" + token.text + "' is not a number");
      }
      node.value = number;
    } else if (At(Token::Kind::kWord, "true") || At(Token::Kind::kWord, "false")) {
      node.value = token.text == "true";
    } else if (token.kind == Token::Kind::kWord && token.text != "and" && token.text != "or") {
      node.kind = Node::Kind::kName;
      node.text = token.text;
    } else {
      return Unexpected();
    }
    ++next_;
    return Add(std::move(node));
  }

  std::vector<Token> tokens_;
  size_t next_ = 0;
  std::vector<Node>* nodes_;
};

template <typename T>
bool Compared(const std::string& op, const T& a, const T& b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  return op == ">" ? a > b : a >= b;
}

std::string KindOf(const GateValue& value) {
  if (std::holds_alternative<double>(value)) return "a number";
  if (std::holds_alternative<bool>(value)) return "true or false";
  return "the text '" + std::get<std::string>(value) + "'";
}

}  // namespace

absl::StatusOr<GateExpression> GateExpression::Parse(const std::string& text) {
  GateExpression expression;
  const absl::Status status = Parser(&expression.nodes_).Read(text);
  if (!status.ok()) return status;
  return expression;
}

std::vector<std::string> GateExpression::Names() const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) {
    if (node.kind != Node::Kind::kName) continue;
    if (std::find(names.begin(), names.end(), node.text) == names.end()) names.push_back(node.text);
  }
  return names;
}

absl::StatusOr<bool> GateExpression::Holds(const GateValues& values) const {
  return Condition(nodes_.size() - 1, values);
}

absl::StatusOr<bool> GateExpression::Condition(size_t at, const GateValues& values) const {
  const absl::StatusOr<GateValue> value = Evaluate(at, values);
  if (!value.ok()) return value.status();
  if (std::holds_alternative<bool>(*value)) return std::get<bool>(*value);
  return ErrorAt(nodes_[at].character, KindOf(*value) + " is no condition; compare it");
}

absl::StatusOr<GateValue> GateExpression::Evaluate(size_t at, const GateValues& values) const {
  const Node& node = nodes_[at];
  if (node.kind == Node::Kind::kLiteral) return node.value;
  if (node.kind == Node::Kind::kName) {
    const auto found = values.find(node.text);
    if (found != values.end()) return found->second;
    return ErrorAt(node.character, "'" + node.text + "' has no value in this cell");
  }
  if (node.kind == Node::Kind::kCompare) {
    const absl::StatusOr<GateValue> left = Evaluate(node.left, values);
    if (!left.ok()) return left;
    const absl::StatusOr<GateValue> right = Evaluate(node.right, values);
    if (!right.ok()) return right;
    const bool ordered = node.text != "==" && node.text != "!=";
    if (left->index() != right->index() || (ordered && !std::holds_alternative<double>(*left))) {
      return ErrorAt(node.character, KindOf(*left) + " cannot be compared (" + node.text +
                                         ") with " + KindOf(*right));
    }
    if (!std::holds_alternative<double>(*left))
      return GateValue((*left == *right) != (node.text == "!="));
    return GateValue(Compared(node.text, std::get<double>(*left), std::get<double>(*right)));
  }
  const absl::StatusOr<bool> left = Condition(node.left, values);
  if (!left.ok()) return left.status();
  if (node.kind == Node::Kind::kNot) return GateValue(!*left);
  if (*left == (node.kind == Node::Kind::kOr)) return GateValue(*left);
  const absl::StatusOr<bool> right = Condition(node.right, values);
  if (!right.ok()) return right.status();
  return GateValue(*right);
}

}  // namespace batchvar
