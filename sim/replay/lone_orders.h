// How a request's rows would be summed if it were served alone, and whether rows that it has in
// company are summed otherwise. Works on classes of M, planned once for every pair that occurs, and
// looks at single rows only where a plan differs from row to row.
#ifndef BATCHVAR_SIM_REPLAY_LONE_ORDERS_H_
#define BATCHVAR_SIM_REPLAY_LONE_ORDERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/config/experiment_spec.h"
#include "sim/replay/plan_book.h"
#include "sim/replay/request_history.h"
#include "sim/shape/capture_sizes.h"

namespace batchvar {

class LoneOrders {
 public:
  // Both outlive this object; the book is the spec's. For one thread.
  LoneOrders(const ExperimentSpec& spec, PlanBook* book);

  // The prompt's steps, alone and cold. Kept: prompts of one length share them.
  const std::vector<HistoryEntry>& PromptOf(int32_t prompt_tokens);

  // Whether any of the tokens [begin, end) that `entry`, one step of a prompt, computed was summed
  // in another order than alone. With `head`, the row that samples passes through it.
  bool PromptDiffers(int32_t prompt_tokens, const HistoryEntry& entry, int64_t begin, int64_t end,
                     bool head);

  // The first of the entry's decode steps whose row was; num_steps if none was. `rule_at` gives the
  // attention rule of a step, asked for in ascending order.
  int32_t FirstOtherDecode(const HistoryEntry& entry,
                           const std::function<const AttentionRule&(int32_t)>& rule_at);

  // Why an M has no plan (tables only); "" if all that were asked for have one.
  const std::string& missing() const { return missing_; }

 private:
  // Ops at two row counts.
  struct Pair {
    bool differs = false;        // whatever the row
    std::vector<size_t> by_row;  // ops that have to be compared row by row
  };
  const Pair& PairOf(RowsOf rows_of, int64_t m_a, int64_t m_b);
  const Digest& RowClassAt(size_t op, int64_t rows, int64_t row);
  bool RowsDiffer(RowsOf rows_of, int64_t m_a, int64_t row_a, int64_t m_b, int64_t row_b,
                  int64_t count);
  bool AttentionDiffers(const HistoryEntry& alone, const HistoryEntry& entry, int64_t begin,
                        int64_t end) const;
  // What computes token `position` alone, once the prompt is done.
  HistoryEntry DecodeOf(int64_t position);
  const AttentionRule& DecodeRule(int64_t position);

  const ExperimentSpec& spec_;
  PlanBook* book_;
  int64_t decode_m_;
  std::map<int32_t, std::vector<HistoryEntry>> prompts_;
  std::map<int64_t, AttentionRule> decode_rules_;
  std::map<std::tuple<bool, int64_t, int64_t>, Pair> pairs_;
  std::map<std::tuple<size_t, int64_t, int64_t>, Digest> row_classes_;
  std::map<std::tuple<AttentionRule, AttentionRule, int64_t>, bool> decode_differs_;
  std::string missing_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_LONE_ORDERS_H_
