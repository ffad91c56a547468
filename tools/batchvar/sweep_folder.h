// The folder of `sweep --out DIR`:
//   sweep.json            what the sweep is; written first, compared on --resume
//   cells.jsonl.partial   one line a cell, in order, appended as cells end
//   cells.jsonl           the same once every cell is there; then cells.csv and heatmap.svg
#ifndef BATCHVAR_TOOLS_BATCHVAR_SWEEP_FOLDER_H_
#define BATCHVAR_TOOLS_BATCHVAR_SWEEP_FOLDER_H_

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/config/load_sweep.h"

namespace batchvar {

class SweepFolder {
 public:
  explicit SweepFolder(std::string path) : path_(std::move(path)) {}

  // Makes the folder. An earlier sweep's results are removed or, if `resume`, its lines are read
  // and given back; they must be of a sweep with the same digest.
  absl::StatusOr<std::vector<std::string>> Open(const SweepSpec& sweep, const std::string& digest,
                                                bool resume);
  absl::Status Append(const std::string& line);
  // Every cell is there. An empty `svg` is none.
  absl::Status Finish(const std::string& csv, const std::string& svg);

 private:
  std::string In(const char* name) const { return path_ + "/" + name; }
  absl::StatusOr<std::vector<std::string>> EarlierLines(const SweepSpec& sweep,
                                                        const std::string& digest) const;
  absl::Status WriteLines(const std::vector<std::string>& lines);

  std::string path_;
  std::ofstream partial_;
};

}  // namespace batchvar

#endif  // BATCHVAR_TOOLS_BATCHVAR_SWEEP_FOLDER_H_
