#include "sim/serving/workload_source.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "sim/base/check.h"
#include "sim/serving/arrival_process.h"
#include "sim/serving/length_sampler.h"

namespace batchvar {
namespace {

// Makes request i of a synthetic workload.
class RequestMaker {
 public:
  RequestMaker(const SyntheticWorkload& workload, uint64_t seed)
      : prompt_len_(workload.prompt_len, seed, "prompt_len"),
        output_len_(workload.output_len, seed, "output_len") {}

  Request Make(int64_t index, TimeNs arrival_ns) const {
    Request request;
    request.id.append(1, 'r').append(std::to_string(index));
    request.arrival_ns = arrival_ns;
    request.prompt_tokens = prompt_len_.At(index);
    request.output_tokens = output_len_.At(index);
    return request;
  }

 private:
  LengthSampler prompt_len_;
  LengthSampler output_len_;
};

class OpenLoopSource : public WorkloadSource {
 public:
  OpenLoopSource(const SyntheticWorkload& workload, uint64_t seed)
      : maker_(workload, seed), times_(workload.arrivals, seed), left_(workload.num_requests) {
    Advance();
  }

  std::optional<TimeNs> NextArrival() const override { return next_; }

  Request Pop() override {
    BV_CHECK(next_.has_value());
    Request request = maker_.Make(issued_++, *next_);
    Advance();
    return request;
  }

  void OnFinished(TimeNs /*when*/) override {}

  bool Exhausted() const override { return !next_.has_value(); }

 private:
  void Advance() {
    next_.reset();
    if (left_ > 0) next_ = times_.Next();
    --left_;
  }

  RequestMaker maker_;
  ArrivalTimes times_;
  int64_t left_;  // arrivals that may still be drawn
  int64_t issued_ = 0;
  std::optional<TimeNs> next_;
};

class ClosedLoopSource : public WorkloadSource {
 public:
  ClosedLoopSource(const SyntheticWorkload& workload, uint64_t seed)
      : maker_(workload, seed),
        num_requests_(workload.num_requests),
        think_time_ns_(NsFromSeconds(workload.arrivals.think_time_s)) {
    for (int32_t i = 0; i < workload.arrivals.concurrency; ++i) Issue(0);
  }

  std::optional<TimeNs> NextArrival() const override {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.top().first;
  }

  Request Pop() override {
    BV_CHECK(!waiting_.empty());
    const auto [arrival_ns, index] = waiting_.top();
    waiting_.pop();
    return maker_.Make(index, arrival_ns);
  }

  void OnFinished(TimeNs when) override { Issue(when + think_time_ns_); }

  bool Exhausted() const override { return waiting_.empty() && issued_ >= num_requests_; }

 private:
  void Issue(TimeNs arrival_ns) {
    if (issued_ < num_requests_) waiting_.emplace(arrival_ns, issued_++);
  }

  // (arrival, index), earliest first, equal arrivals by index. At most `concurrency` long.
  using Entry = std::pair<TimeNs, int64_t>;

  RequestMaker maker_;
  int64_t num_requests_;
  TimeNs think_time_ns_;
  int64_t issued_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting_;
};

class TraceSource : public WorkloadSource {
 public:
  explicit TraceSource(std::vector<Request> requests) : requests_(std::move(requests)) {
    BV_CHECK(std::is_sorted(
        requests_.begin(), requests_.end(),
        [](const Request& a, const Request& b) { return a.arrival_ns < b.arrival_ns; }));
  }

  std::optional<TimeNs> NextArrival() const override {
    if (Exhausted()) return std::nullopt;
    return requests_[next_].arrival_ns;
  }

  Request Pop() override {
    BV_CHECK(!Exhausted());
    return std::move(requests_[next_++]);
  }

  void OnFinished(TimeNs /*when*/) override {}

  bool Exhausted() const override { return next_ == requests_.size(); }

 private:
  std::vector<Request> requests_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<WorkloadSource> MakeSyntheticSource(const SyntheticWorkload& workload,
                                                    uint64_t seed) {
  if (workload.arrivals.process == ArrivalProcess::kClosedLoop) {
    return std::make_unique<ClosedLoopSource>(workload, seed);
  }
  return std::make_unique<OpenLoopSource>(workload, seed);
}

std::unique_ptr<WorkloadSource> MakeTraceSource(std::vector<Request> requests) {
  return std::make_unique<TraceSource>(std::move(requests));
}

}  // namespace batchvar
