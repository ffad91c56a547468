// Counts over all steps of a run: how often each M occurred, which attention rules, and for pure
// decode steps the curve of batch size against step time. A sink of the simulator; the reduction
// classes that the run visited follow from it (VisitedClasses).
#ifndef BATCHVAR_SIM_REPLAY_STEP_CENSUS_H_
#define BATCHVAR_SIM_REPLAY_STEP_CENSUS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "sim/base/digest.h"
#include "sim/replay/plan_book.h"
#include "sim/replay/roofline_timer.h"
#include "sim/serving/step_span.h"

namespace batchvar {

struct StepCount {
  int64_t steps = 0;
  int64_t tokens = 0;
};

// Steps in which every sequence decodes, by batch size.
struct DecodePoint {
  int64_t steps = 0;
  TimeNs duration_ns = 0;
  int64_t kv_tokens = 0;     // summed over steps
  TimePs kv_traffic_ps = 0;  // time that KV traffic alone takes, summed
  TimePs weight_ps = 0;      // the same for the weights
};

class StepCensus final : public RunSink {
 public:
  // Both must outlive the census.
  StepCensus(const PlanBook* book, const RooflineTimer* timer) : book_(book), timer_(timer) {}

  void OnRequest(int32_t, const Request&) override {}
  void OnSpan(const StepSpan& span) override;

  const std::map<int64_t, StepCount>& by_m() const { return by_m_; }  // before padding
  int64_t MedianM() const;  // 0 without steps; the lower one of two
  const std::map<int64_t, StepCount>& by_padded_m() const { return by_padded_m_; }
  const std::map<int64_t, StepCount>& by_requests() const { return by_requests_; }
  const std::map<AttentionRule, StepCount>& by_rule() const { return by_rule_; }
  const std::map<int64_t, DecodePoint>& decode_curve() const { return decode_curve_; }

 private:
  void CountDecode(const StepSpan& span);

  const PlanBook* book_;
  const RooflineTimer* timer_;
  std::map<int64_t, StepCount> by_m_;
  std::map<int64_t, StepCount> by_padded_m_;
  std::map<int64_t, StepCount> by_requests_;
  std::map<AttentionRule, StepCount> by_rule_;
  std::map<int64_t, DecodePoint> decode_curve_;
};

// One reduction class that an op visited in the run.
struct VisitedClass {
  Digest klass;
  int64_t steps = 0;
  int64_t tokens = 0;
  std::vector<int64_t> rows;  // the M that fell into it, ascending (attention: none)
  int32_t split = 1;          // pieces of K, or attention's split factor
};

struct OpClasses {
  Op op = Op::kQkvProj;
  std::vector<VisitedClass> classes;  // in order of their smallest M; attention: of its rule
};

// The book must hold every M of the census (PlanBook::PlanAll). Attention's classes are those of
// its rule: two steps with one rule cut any kv length alike.
std::vector<OpClasses> VisitedClasses(const StepCensus& census, const PlanBook& book);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_STEP_CENSUS_H_
