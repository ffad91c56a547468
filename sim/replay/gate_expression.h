// The `gate` of a sweep: what must hold for every cell, as in
//   m >= 16 or (o_proj.split_k == 1 and not policies == "batch_invariant")
// Comparisons == != < <= > >= of names, numbers and quoted text; `and`, `or`, `not`, parentheses;
// `not` binds before `and`, `and` before `or`. Names are dotted and get their values from outside.
#ifndef BATCHVAR_SIM_REPLAY_GATE_EXPRESSION_H_
#define BATCHVAR_SIM_REPLAY_GATE_EXPRESSION_H_

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace batchvar {

using GateValue = std::variant<double, bool, std::string>;
using GateValues = std::map<std::string, GateValue>;

class GateExpression {
 public:
  // One node of the tree. Nodes stand in a vector, operands before their operator, so that the
  // whole is a plain value.
  struct Node {
    enum class Kind { kLiteral, kName, kCompare, kAnd, kOr, kNot };
    Kind kind = Kind::kLiteral;
    GateValue value;   // kLiteral
    std::string text;  // kName: the name; kCompare: the operator
    size_t left = 0;   // operands, as indices
    size_t right = 0;
    size_t character = 0;  // from 1, in the expression
  };

  // Errors say at which character. They carry no file: the caller knows it.
  static absl::StatusOr<GateExpression> Parse(const std::string& text);

  // Names that occur, in order, each once.
  std::vector<std::string> Names() const;
  // `and` and `or` look at the right side only when it matters, so a name there may have no value.
  // Text against a number, and text as a condition, are errors.
  absl::StatusOr<bool> Holds(const GateValues& values) const;

 private:
  absl::StatusOr<GateValue> Evaluate(size_t at, const GateValues& values) const;
  absl::StatusOr<bool> Condition(size_t at, const GateValues& values) const;

  std::vector<Node> nodes_;  // the last one is the whole expression
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_GATE_EXPRESSION_H_
