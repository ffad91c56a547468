#include "sim/replay/sweep.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace batchvar {
namespace {

class CellQueue {
 public:
  explicit CellQueue(const SweepRun& sweep)
      : sweep_(sweep), next_(sweep.first), done_(sweep.first) {}

  void Work() {
    size_t cell = 0;
    while (Take(&cell)) Finish(cell, sweep_.run(cell));
  }

  absl::StatusOr<size_t> Result() const {
    if (!status_.ok()) return status_;
    return done_;
  }

 private:
  bool Take(size_t* cell) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!status_.ok() || next_ == sweep_.count || sweep_.interrupted()) return false;
    *cell = next_++;
    return true;
  }

  // Hands on every result whose predecessors are handed on.
  void Finish(size_t cell, std::string result) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.emplace(cell, std::move(result));
    while (status_.ok() && !waiting_.empty() && waiting_.begin()->first == done_) {
      status_ = sweep_.done(done_, waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      if (status_.ok()) ++done_;
    }
  }

  const SweepRun& sweep_;
  std::mutex mutex_;
  size_t next_;                            // to be taken
  size_t done_;                            // handed on
  std::map<size_t, std::string> waiting_;  // for their predecessors
  absl::Status status_;
};

}  // namespace

absl::StatusOr<size_t> RunCells(const SweepRun& sweep) {
  CellQueue queue(sweep);
  const size_t left = sweep.count - sweep.first;
  const size_t threads = std::min(left, static_cast<size_t>(std::max(1, sweep.jobs)));
  std::vector<std::thread> pool;
  for (size_t t = 1; t < threads; ++t) pool.emplace_back([&queue] { queue.Work(); });
  queue.Work();
  for (std::thread& thread : pool) thread.join();
  return queue.Result();
}

}  // namespace batchvar
