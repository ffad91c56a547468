#include "tools/batchvar/result_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "sim/status/located_error.h"

namespace batchvar {

absl::Status WriteResultFile(const std::string& path, const std::string& text) {
  std::ofstream out(path + ".partial", std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  std::error_code error;
  if (!out.fail()) std::filesystem::rename(path + ".partial", path, error);
  if (out.fail() || error) return InputError({path}, "cannot be written (is the disk full?)");
  return absl::OkStatus();
}

}  // namespace batchvar
