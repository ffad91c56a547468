#include "sim/divergence/probe_terms.h"

#include <algorithm>

#include "sim/base/check.h"

namespace batchvar {
namespace {

constexpr int64_t kRun = 4;
constexpr int64_t kPhases = 16;  // the widest instruction on 16-bit operands

}  // namespace

std::vector<int64_t> ProbePlaces(int64_t extent, int64_t count) {
  BV_CHECK(extent >= 1 && count >= 1 && count <= kMaxProbeTerms);
  const int64_t run = extent <= count ? 1 : std::min(kRun, count);
  const int64_t runs = extent <= count ? extent : count / run;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < runs; ++i) {
    const int64_t begin = i * extent / runs;
    const int64_t slack = (i + 1) * extent / runs - begin - run;
    // The last run ends where the sum does: a short last piece is seen.
    const int64_t first =
        begin + (i + 1 == runs && runs > 1 ? slack : std::min(2 * i % kPhases, slack));
    for (int64_t place = first; place < first + run; ++place) places.push_back(place);
  }
  return places;
}

RevealedSum RevealTerms(int64_t extent, const std::vector<int64_t>& places, const TermSum& sum) {
  const int64_t n = std::ssize(places);
  BV_CHECK(n >= 1 && n <= kMaxProbeTerms && places.back() < extent);
  std::vector<float> terms(extent, 0.0f);
  for (const int64_t place : places) terms[place] = kProbeUnit;
  return RevealTree(n, [&](int64_t i, int64_t j) {
    terms[places[i]] = kProbeLarge;
    terms[places[j]] = -kProbeLarge;
    const double units = sum(terms) / kProbeUnit;
    terms[places[i]] = terms[places[j]] = kProbeUnit;
    return units;
  });
}

}  // namespace batchvar
