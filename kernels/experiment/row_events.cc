#include "kernels/experiment/row_events.h"

#include <utility>

namespace batchvar {

void EventPlanner::Add(const HistoryEntry& entry, int64_t begin, int64_t end,
                       std::vector<RowEvent>* events) {
  for (int64_t step = 0; step < entry.num_steps; ++step) {
    const int64_t first = entry.num_computed + step * entry.num_scheduled;
    for (int64_t position = first; position < first + entry.num_scheduled; ++position) {
      if (position < begin || position >= end) continue;
      const bool last = position + 1 == first + entry.num_scheduled;
      const PlannedRow row{&entry, step, position, last && entry.phase != Phase::kChunk};
      auto plan = std::make_shared<const RowPlan>(plans_.Row(row));
      std::shared_ptr<const RowPlan>& shared = by_class_[plan->row_classes];
      if (shared == nullptr) shared = std::move(plan);
      events->push_back({position, row.samples, shared, entry.num_requests, entry.padded_m});
    }
  }
}

void EventPlanner::Add(const RequestHistory& history, int64_t begin, int64_t end,
                       std::vector<RowEvent>* events) {
  for (const HistoryEntry& entry : history.entries()) Add(entry, begin, end, events);
}

}  // namespace batchvar
