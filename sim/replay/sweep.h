// Runs the cells of a sweep in threads and hands their results on in order. What a cell computes is
// the caller's: this file knows threads, order and interruption only.
#ifndef BATCHVAR_SIM_REPLAY_SWEEP_H_
#define BATCHVAR_SIM_REPLAY_SWEEP_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace batchvar {

struct SweepRun {
  size_t first = 0;  // cells before it are there already
  size_t count = 0;  // cells of the sweep
  int32_t jobs = 1;
  // Computes a cell. Called in several threads at once.
  std::function<std::string(size_t)> run;
  // Called in ascending order, never twice at once; an error ends the sweep.
  std::function<absl::Status(size_t, const std::string&)> done;
  std::function<bool()> interrupted = [] { return false; };
};

// How many cells are done, counted from 0: `count`, or fewer after an interruption. Cells that had
// begun by then are finished, so the cells that are done have no gap.
absl::StatusOr<size_t> RunCells(const SweepRun& sweep);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_SWEEP_H_
