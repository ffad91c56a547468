#include "sim/replay/hazard.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/elementary.h"
#include "sim/io/gemm_table.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// Any op of the body whose plan is another at `m` than at `lone_m`.
bool BodyDiffers(int64_t lone_m, int64_t m, PlanBook* book) {
  for (size_t op = 0; op < book->ops().size(); ++op) {
    const OpShape& shape = book->ops()[op];
    if (shape.op == Op::kAttention || shape.rows_of == RowsOf::kRequests) continue;
    if (book->Lookup(op, book->RowsOfOp(op, lone_m, 1)).klass !=
        book->Lookup(op, book->RowsOfOp(op, m, 1)).klass) {
      return true;
    }
  }
  return false;
}

int64_t TypicalM(const ExperimentSpec& spec, ReplayResult* replay) {
  const int64_t lone_m = PaddingOf(spec.padding).PaddedM(1);
  if (!replay->book->FirstMissing({lone_m}, {}).empty()) return lone_m;
  // Where only attention or the head differ: the middle of the steps, in company at least.
  int64_t typical = std::max<int64_t>(PaddingOf(spec.padding).PaddedM(2),
                                      PaddingOf(spec.padding).PaddedM(replay->census->MedianM()));
  int64_t most = 0;
  for (const auto& [m, count] : replay->census->by_padded_m()) {
    if (count.tokens <= most || !BodyDiffers(lone_m, m, replay->book.get())) continue;
    typical = m;
    most = count.tokens;
  }
  return typical;
}

// 1 - (1 - rate)^tokens
double ChanceOfAny(double rate, int64_t tokens) {
  if (tokens == 0 || rate <= 0.0) return 0.0;
  return rate >= 1.0 ? 1.0
                     : 1.0 - PortableExp(static_cast<double>(tokens) * PortableLog(1.0 - rate));
}

}  // namespace

double MarginNoise::FlipsPerToken() const { return std::min(1.0, density * decrease); }

MarginNoise GivenNoise(double density, double rms) {
  MarginNoise noise;
  noise.density = density;
  noise.rms = rms;
  noise.decrease = rms / std::sqrt(kTwoPi);
  return noise;
}

absl::StatusOr<Exposure> MeasureExposure(const ExperimentSpec& spec,
                                         const ExposureOptions& options) {
  ExperimentSpec planned = spec;
  if (absl::Status tables = LoadGemmTables(&planned.policies.gemm); !tables.ok()) return tables;
  PlanBook book(planned);
  ExposureCensus census(planned, &book);
  ReplayOptions replay;
  replay.threads = options.threads;
  replay.sinks = {&census};
  replay.interrupted = options.interrupted;
  replay.progress = options.progress;
  absl::StatusOr<ReplayResult> result = Replay(spec, replay);
  if (!result.ok()) return result.status();
  if (!census.missing().empty()) return ConfigError({}, census.missing());
  Exposure exposure;
  exposure.requests = census.Exposures();
  exposure.replay = *std::move(result);
  exposure.typical_m = TypicalM(spec, &exposure.replay);
  return exposure;
}

std::vector<HazardWindow> HazardWindows(const std::vector<RequestExposure>& requests,
                                        const MarginNoise& noise, TimeNs window_ns) {
  BV_CHECK(window_ns > 0);
  const double rate = noise.FlipsPerToken();
  std::vector<HazardWindow> windows;
  for (const RequestExposure& request : requests) {
    const int64_t window = request.arrival_ns / window_ns;
    while (std::ssize(windows) <= window) {
      windows.push_back({std::ssize(windows) * window_ns, 0, 0, 0, 0, 0.0, 0.0});
    }
    HazardWindow& of = windows[static_cast<size_t>(window)];
    ++of.requests;
    of.meeting += request.exposed > 0 ? 1 : 0;
    of.tokens += request.tokens;
    of.exposed += request.exposed;
    of.expected_changed += ChanceOfAny(rate, request.exposed);
  }
  for (HazardWindow& window : windows) {
    window.expected_flips = rate * static_cast<double>(window.exposed);
  }
  return windows;
}

HazardWindow HazardTotal(const std::vector<HazardWindow>& windows) {
  HazardWindow total;
  for (const HazardWindow& window : windows) {
    total.requests += window.requests;
    total.meeting += window.meeting;
    total.tokens += window.tokens;
    total.exposed += window.exposed;
    total.expected_flips += window.expected_flips;
    total.expected_changed += window.expected_changed;
  }
  return total;
}

}  // namespace batchvar
