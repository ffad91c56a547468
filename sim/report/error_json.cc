#include "sim/report/error_json.h"

#include <string>

#include "sim/status/located_error.h"

namespace batchvar {

nlohmann::ordered_json ErrorJson(const absl::Status& status, int exit_code) {
  const Location where = LocationOf(status);
  nlohmann::ordered_json object = {{"schema_version", 1},
                                   {"kind", "error"},
                                   {"exit_code", exit_code},
                                   {"message", std::string(status.message())}};
  if (!where.file.empty()) object["file"] = where.file;
  if (where.line > 0) object["line"] = where.line;
  if (where.column > 0) object["column"] = where.column;
  if (!where.field.empty()) object["field"] = where.field;
  return object;
}

}  // namespace batchvar
