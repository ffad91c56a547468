#include "sim/serving/arrival_process.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/base/elementary.h"

namespace batchvar {
namespace {

constexpr double kNsPerSecondReal = 1e9;

}  // namespace

TimeNs NsFromSeconds(double seconds) {
  const double ns = seconds * kNsPerSecondReal + 0.5;
  return ns < static_cast<double>(kArrivalHorizonNs) ? static_cast<TimeNs>(ns) : kArrivalHorizonNs;
}

void NsClock::Advance(double ns) {
  const double total = fraction_ + ns;
  if (total >= static_cast<double>(kArrivalHorizonNs - now_)) {
    Set(kArrivalHorizonNs);
    return;
  }
  const auto whole = static_cast<TimeNs>(total);
  now_ += whole;
  fraction_ = total - static_cast<double>(whole);
}

void NsClock::Set(TimeNs now) {
  now_ = now;
  fraction_ = 0;
}

ArrivalTimes::ArrivalTimes(const ArrivalSpec& spec, uint64_t seed)
    : process_(spec.process), rate_per_s_(spec.rate_per_s), stream_(seed, "arrivals") {
  switch (process_) {
    case ArrivalProcess::kConstant:
    case ArrivalProcess::kGamma:
    case ArrivalProcess::kWeibull: SetRenewal(spec); break;
    case ArrivalProcess::kPoisson: AddSegment(0, spec.rate_per_s, spec.rate_per_s); break;
    case ArrivalProcess::kPiecewise:
      ended_ = spec.rates.empty();
      for (const RatePiece& piece : spec.rates) {
        AddSegment(piece.duration_s, piece.rate_per_s, piece.rate_per_s);
      }
      break;
    case ArrivalProcess::kRamp:
      AddSegment(spec.duration_s, spec.start_rate_per_s, spec.end_rate_per_s);
      AddSegment(0, spec.end_rate_per_s, spec.end_rate_per_s);
      break;
    case ArrivalProcess::kAllAtOnce: break;
    case ArrivalProcess::kClosedLoop: BV_CHECK(false);
  }
  if (!segments_.empty()) segments_.back().end_ns = kArrivalHorizonNs;  // whatever its duration
}

void ArrivalTimes::AddSegment(double duration_s, double start_rate_per_s, double end_rate_per_s) {
  const TimeNs start_ns = segments_.empty() ? 0 : segments_.back().end_ns;
  const TimeNs left_ns = kArrivalHorizonNs - start_ns;
  const TimeNs duration_ns = NsFromSeconds(duration_s);
  segments_.push_back({.end_ns = duration_ns < left_ns ? start_ns + duration_ns : kArrivalHorizonNs,
                       .start_rate = start_rate_per_s / kNsPerSecondReal,
                       .end_rate = end_rate_per_s / kNsPerSecondReal});
}

void ArrivalTimes::SetRenewal(const ArrivalSpec& spec) {
  ended_ = !(rate_per_s_ > 0);
  if (ended_ || process_ == ArrivalProcess::kConstant) return;
  const double mean_ns = kNsPerSecondReal / rate_per_s_;
  const double variance = spec.cv * spec.cv;
  if (variance == 0) {
    process_ = ArrivalProcess::kConstant;
  } else if (process_ == ArrivalProcess::kGamma) {
    shape_ = 1.0 / variance;
    scale_ns_ = mean_ns * variance;
  } else {
    shape_ = 1.0 / WeibullShapeOfCv(spec.cv);
    scale_ns_ = mean_ns * PortableExp(-PortableLogGamma(1.0 + shape_));
  }
}

std::optional<TimeNs> ArrivalTimes::Next() {
  if (process_ == ArrivalProcess::kAllAtOnce) return 0;
  if (ended_) return std::nullopt;
  if (process_ == ArrivalProcess::kConstant) {
    // Not gap by gap: the sum of three thirds may be a hair below a second.
    clock_ = NsClock();
    clock_.Advance(static_cast<double>(++count_) * kNsPerSecondReal / rate_per_s_);
  } else if (segments_.empty()) {
    clock_.Advance(NextGapNs());
  } else {
    ended_ = !AdvanceByRate();
  }
  ended_ = ended_ || clock_.now() >= kArrivalHorizonNs;
  if (ended_) return std::nullopt;
  return clock_.now();
}

double ArrivalTimes::NextGapNs() {
  const double unit = process_ == ArrivalProcess::kGamma
                          ? stream_.NextGamma(shape_)
                          : PortablePow(stream_.NextExponential(), shape_);
  return scale_ns_ * unit;
}

// Spends one unit exponential of cumulative rate, from segment to segment. False: the rates left
// add up to less.
bool ArrivalTimes::AdvanceByRate() {
  double mass = stream_.NextExponential();
  while (true) {
    const Segment& segment = segments_[segment_];
    const double left_ns = static_cast<double>(segment.end_ns - clock_.now()) - clock_.fraction();
    const auto length_ns = static_cast<double>(segment.end_ns - segment_start_ns_);
    const double slope = length_ns > 0 ? (segment.end_rate - segment.start_rate) / length_ns : 0.0;
    const double rate = segment.end_rate - slope * left_ns;
    const double mass_left = 0.5 * (rate + segment.end_rate) * left_ns;
    if (mass < mass_left) {
      // The root of rate x + slope x^2 / 2 = mass, in the form that does not cancel and that holds
      // for slope 0 too. Rounding may push a discriminant that ought to be 0 just below it.
      const double discriminant = rate * rate + 2.0 * slope * mass;
      const double speed = rate + (discriminant > 0 ? std::sqrt(discriminant) : 0.0);
      clock_.Advance(speed > 0 ? std::min(2.0 * mass / speed, left_ns) : 0.0);
      return true;
    }
    if (segment_ + 1 == segments_.size()) return false;
    mass -= mass_left;
    segment_start_ns_ = segment.end_ns;
    clock_.Set(segment.end_ns);
    ++segment_;
  }
}

double WeibullShapeOfCv(double cv) {
  const double target = PortableLog(1.0 + cv * cv);
  double low = 0.02;
  double high = 1e4;
  // The middle is geometric, so the steps are relative; 100 of them reach the last bit.
  for (int step = 0; step < 100; ++step) {
    const double shape = std::sqrt(low * high);
    const double value =
        PortableLogGamma(1.0 + 2.0 / shape) - 2.0 * PortableLogGamma(1.0 + 1.0 / shape);
    (value > target ? low : high) = shape;
  }
  return std::sqrt(low * high);
}

}  // namespace batchvar
