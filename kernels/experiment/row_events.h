// What a simulated request's rows were: a RequestHistory as the list of its rows with the orders
// that each met. Nothing is executed here.
#ifndef BATCHVAR_KERNELS_EXPERIMENT_ROW_EVENTS_H_
#define BATCHVAR_KERNELS_EXPERIMENT_ROW_EVENTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/decoder/row_plan.h"
#include "kernels/experiment/borrowed_plan.h"
#include "sim/replay/plan_book.h"
#include "sim/replay/request_history.h"

namespace batchvar {

// One computation of one token of a request. Rows of one class share their plan.
struct RowEvent {
  int64_t position = 0;
  bool samples = false;  // gives the token at position + 1
  std::shared_ptr<const RowPlan> plan;
  int32_t batch = 0;     // requests in the step
  int64_t padded_m = 0;  // M of the body's GEMMs
};

class EventPlanner {
 public:
  // The book belongs to the planned model and outlives this object; `executed` is the model whose
  // weights run. For one thread.
  EventPlanner(PlanBook* book, const ModelSpec& executed, int32_t tp)
      : plans_(book, executed, tp) {}

  // Why the executed model cannot be summed as the planned one is; "" when it can.
  std::string WhyNot() const { return plans_.WhyNot(); }

  // Appends the rows of one entry for tokens in [begin, end), in the order in which they ran.
  void Add(const HistoryEntry& entry, int64_t begin, int64_t end, std::vector<RowEvent>* events);
  // Of all entries of the history.
  void Add(const RequestHistory& history, int64_t begin, int64_t end,
           std::vector<RowEvent>* events);

 private:
  BorrowedPlans plans_;
  std::map<Digest, std::shared_ptr<const RowPlan>> by_class_;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_EXPERIMENT_ROW_EVENTS_H_
