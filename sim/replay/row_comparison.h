// Compares one request in two runs, row by row: which of its tokens met another summation order, at
// which op first. Equal row classes and equal inputs give equal bits, so no difference here means
// no difference in the request's logits.
//
// A row is one computation of one token. Rows of both runs are paired by (pass, token): pass 0 is
// the first time a token is computed, pass 1 after a preemption, and so on.
#ifndef BATCHVAR_SIM_REPLAY_ROW_COMPARISON_H_
#define BATCHVAR_SIM_REPLAY_ROW_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/replay/plan_book.h"
#include "sim/replay/request_history.h"

namespace batchvar {

// One side of a row: the step and the order under which it was summed.
struct RowSide {
  HistoryEntry entry;
  int64_t step = 0;
  int64_t rows = 0;  // M of the op; attention: sequences in the step
  Order order;
  std::string policy;
  Tile tile;        // GEMMs
  Digest klass;     // of the row
  int64_t row = 0;  // in the op's output; attention: not set
};

// Columns of a row that the two sides sum in two orders.
struct ColumnDifference {
  Range columns;
  Order a;
  Order b;
};

struct RowDifference {
  int32_t pass = 0;
  int64_t position = 0;  // token of the request
  size_t op = 0;         // index into the books' ops
  RowSide a;
  RowSide b;
  // Set where an order depends on the column (stream-K, sliced all-reduces): where the sides
  // differ, ascending, equal neighbours joined. The sides' orders are then those of the first of
  // these.
  std::vector<ColumnDifference> columns;
  int64_t num_columns = 0;  // of the whole row
};

// Tokens of one pass that only one run computed: the other took them from the prefix cache, or was
// not preempted, or stopped before.
struct UnpairedRows {
  bool in_a = false;  // else in b
  int32_t pass = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

struct OpRowCount {
  int64_t compared = 0;
  int64_t differ = 0;
};

struct RowComparison {
  std::optional<RowDifference> first;  // earliest pair of steps, then op in layer order, then token
  std::vector<OpRowCount> by_op;       // in the order of ops
  std::vector<UnpairedRows> unpaired;
};

// Both books must be of models with the same ops (same model and tp); CHECKed.
RowComparison CompareRows(const RequestHistory& a, PlanBook* book_a, const RequestHistory& b,
                          PlanBook* book_b);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_ROW_COMPARISON_H_
