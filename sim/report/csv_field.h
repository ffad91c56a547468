// A field of a CSV file: RFC 4180, quotes where they are needed.
#ifndef BATCHVAR_SIM_REPORT_CSV_FIELD_H_
#define BATCHVAR_SIM_REPORT_CSV_FIELD_H_

#include <string>

namespace batchvar {

std::string CsvField(const std::string& text);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_CSV_FIELD_H_
