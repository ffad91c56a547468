#include "sim/replay/prefix_sources.h"

#include <algorithm>
#include <set>

#include "sim/base/check.h"

namespace batchvar {

void PrefixSources::OnRequest(int32_t index, const Request& request) {
  BV_CHECK(index == static_cast<int32_t>(ids_.size()));
  ids_.push_back(request.id);
}

void PrefixSources::OnSpan(const StepSpan& span) {
  for (const PrefixHit& hit : span.hits) {
    std::vector<int32_t>& producers = producers_of_[hit.request];
    if (producers.empty() || producers.back() != hit.producer.request) {
      producers.push_back(hit.producer.request);
    }
  }
}

std::vector<std::string> PrefixSources::WithProducers(const std::vector<std::string>& ids) const {
  std::set<int32_t> found;
  std::vector<int32_t> open;
  for (size_t index = 0; index < ids_.size(); ++index) {
    if (std::find(ids.begin(), ids.end(), ids_[index]) == ids.end()) continue;
    open.push_back(static_cast<int32_t>(index));
  }
  while (!open.empty()) {
    const int32_t index = open.back();
    open.pop_back();
    if (!found.insert(index).second) continue;
    const auto producers = producers_of_.find(index);
    if (producers == producers_of_.end()) continue;
    open.insert(open.end(), producers->second.begin(), producers->second.end());
  }
  std::vector<std::string> names;
  for (const int32_t index : found) names.push_back(ids_[index]);
  return names;
}

}  // namespace batchvar
