// Who computed the KV that requests found in the prefix cache. A sink of the simulator; whoever
// executes a request asks it which others have to be executed before.
#ifndef BATCHVAR_SIM_REPLAY_PREFIX_SOURCES_H_
#define BATCHVAR_SIM_REPLAY_PREFIX_SOURCES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/serving/prefix_hit.h"
#include "sim/serving/step_span.h"

namespace batchvar {

class PrefixSources final : public RunSink {
 public:
  void OnRequest(int32_t index, const Request& request) override;
  void OnSpan(const StepSpan& span) override;

  // The requests called `ids` as far as they are in the run, those whose KV they took over, and so
  // on: in order of arrival, each once.
  std::vector<std::string> WithProducers(const std::vector<std::string>& ids) const;

 private:
  std::vector<std::string> ids_;                          // by index
  std::map<int32_t, std::vector<int32_t>> producers_of_;  // by index; only requests that had hits
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_PREFIX_SOURCES_H_
