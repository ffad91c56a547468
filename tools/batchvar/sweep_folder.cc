#include "tools/batchvar/sweep_folder.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "sim/config/config_files.h"
#include "sim/report/cell_line.h"
#include "sim/status/located_error.h"
#include "tools/batchvar/result_file.h"

namespace batchvar {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kAbout[] = "sweep.json";
constexpr char kPartial[] = "cells.jsonl.partial";
constexpr char kCells[] = "cells.jsonl";
constexpr char kCsv[] = "cells.csv";
constexpr char kPicture[] = "heatmap.svg";

std::string AboutJson(const SweepSpec& sweep, const std::string& digest) {
  Json about = {{"schema_version", 1},
                {"kind", "sweep"},
                {"batchvar", BATCHVAR_VERSION},
                {"command", SweepCommandName(sweep.command)},
                {"cells", sweep.cells.size()},
                {"keys", sweep.keys},
                {"digest", digest}};
  if (!sweep.gate.empty()) about["gate"] = sweep.gate;
  return about.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SweepFolder::Open(const SweepSpec& sweep,
                                                           const std::string& digest, bool resume) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) return InputError({path_}, "cannot be made: " + error.message());
  absl::StatusOr<std::vector<std::string>> lines = std::vector<std::string>();
  if (resume && Exists(In(kAbout))) lines = EarlierLines(sweep, digest);
  if (!lines.ok()) return lines;
  for (const char* name : {kCells, kCsv, kPicture}) {
    if (lines->empty()) fs::remove(In(name), error);
  }
  absl::Status status = WriteResultFile(In(kAbout), AboutJson(sweep, digest));
  if (status.ok()) status = WriteLines(*lines);
  if (!status.ok()) return status;
  return lines;
}

// Lines up to the first one that is not whole: a sweep that was killed may have left half a line.
absl::StatusOr<std::vector<std::string>> SweepFolder::EarlierLines(
    const SweepSpec& sweep, const std::string& digest) const {
  const FileText about = ReadFileText(In(kAbout));
  if (!about.problem.empty()) return InputError({In(kAbout)}, about.problem);
  if (about.text != AboutJson(sweep, digest)) {
    return ConfigError({In(kAbout)},
                       "is of another sweep: the file, its base, a trace, --set or the program has "
                       "changed; use another folder, or leave out --resume to begin again");
  }
  std::vector<std::string> lines;
  const FileText file = ReadFileText(In(Exists(In(kPartial)) ? kPartial : kCells));
  size_t begin = 0;
  while (lines.size() < sweep.cells.size()) {
    const size_t end = file.text.find('\n', begin);
    if (end == std::string::npos) break;
    std::string line = file.text.substr(begin, end - begin);
    const absl::StatusOr<CellRecord> record = ReadCellLine(sweep.command, line);
    if (!record.ok() || record->cell != lines.size()) break;
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

absl::Status SweepFolder::WriteLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const absl::Status status = WriteResultFile(In(kPartial), text);
  if (!status.ok()) return status;
  partial_.open(In(kPartial), std::ios::binary | std::ios::app);
  return partial_ ? absl::OkStatus() : InputError({In(kPartial)}, "cannot be opened");
}

absl::Status SweepFolder::Append(const std::string& line) {
  partial_ << line << '\n' << std::flush;
  return partial_ ? absl::OkStatus()
                  : InputError({In(kPartial)}, "cannot be written (is the disk full?)");
}

absl::Status SweepFolder::Finish(const std::string& csv, const std::string& svg) {
  partial_.close();
  absl::Status status = WriteResultFile(In(kCsv), csv);
  if (status.ok() && !svg.empty()) status = WriteResultFile(In(kPicture), svg);
  if (!status.ok()) return status;
  // Last, so that cells.jsonl is there only when everything is.
  std::error_code error;
  fs::rename(In(kPartial), In(kCells), error);
  return error ? InputError({In(kCells)}, "cannot be made: " + error.message()) : absl::OkStatus();
}

}  // namespace batchvar
