#include "sim/divergence/experiment_result.h"

#include <algorithm>

namespace batchvar {

FirstDivergence FirstDivergenceOf(const ArmResult& arm) {
  std::vector<int64_t> positions;
  for (const TextDivergence& divergence : arm.divergences) {
    positions.push_back(divergence.position);
  }
  if (positions.empty()) return {};
  std::sort(positions.begin(), positions.end());
  return {true, positions.front(), positions[positions.size() / 2], positions.back()};
}

}  // namespace batchvar
