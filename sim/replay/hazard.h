// Mechanism against observation rate: how many requests of a workload meet a summation order that
// they would not have met alone, and how many flipped tokens that makes one expect. The formula and
// what it assumes: docs/hazard.md.
#ifndef BATCHVAR_SIM_REPLAY_HAZARD_H_
#define BATCHVAR_SIM_REPLAY_HAZARD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/replay/exposure_census.h"
#include "sim/replay/replay.h"

namespace batchvar {

// What a model's decisions are like: given, or measured by kernels/experiment/margin_noise.h.
struct MarginNoise {
  double density = 0.0;   // of margins at 0, per unit of a logit
  double rms = 0.0;       // of the margin's change under another order
  double decrease = 0.0;  // mean of max(0, -change)
  std::string model;      // whose weights were run; empty: the numbers were given
  bool synthetic = false;
  std::string plan_model;  // whose plans were laid onto them
  int64_t m = 0;           // of the steps whose orders were compared with those alone
  int64_t tokens = 0;      // measured
  int64_t flips = 0;       // other tokens among them, on the same context

  double FlipsPerToken() const;  // density * decrease, at most 1
};

// From an rms of normal changes: their mean decrease is rms / sqrt(2 pi).
MarginNoise GivenNoise(double density, double rms);

// Requests by their arrival; a request's tokens belong to its window, whenever they came.
struct HazardWindow {
  TimeNs start_ns = 0;
  int64_t requests = 0;
  int64_t meeting = 0;  // that met a class which they would not have met alone
  int64_t tokens = 0;
  int64_t exposed = 0;
  double expected_flips = 0.0;
  double expected_changed = 0.0;  // answers with at least one
};

struct Exposure {
  std::vector<RequestExposure> requests;  // in order of arrival
  // M of the body that computed most tokens among those that sum otherwise than one request alone;
  // the median M where the body never does.
  int64_t typical_m = 0;
  ReplayResult replay;
};

struct ExposureOptions {
  int32_t threads = 1;  // planning; results do not depend on it
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(int64_t, TimeNs)> progress = [](int64_t, TimeNs) {};
};

// Replays the workload and counts. Input errors only, as Replay().
absl::StatusOr<Exposure> MeasureExposure(const ExperimentSpec& spec,
                                         const ExposureOptions& options);

// Windows of `window_ns` from the run's origin to the last arrival, empty ones included.
std::vector<HazardWindow> HazardWindows(const std::vector<RequestExposure>& requests,
                                        const MarginNoise& noise, TimeNs window_ns);

// All windows as one.
HazardWindow HazardTotal(const std::vector<HazardWindow>& windows);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_HAZARD_H_
