// Numbers as people read them, without locale: "12,031", "3.47", "8.2 %".
#ifndef BATCHVAR_SIM_REPORT_NUMBER_TEXT_H_
#define BATCHVAR_SIM_REPORT_NUMBER_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace batchvar {

std::string WithThousands(int64_t value);
std::string Fixed(double value, int digits);
// Ascending numbers as ranges over `all` (ascending, a superset): neighbours in `all` are joined,
// so {1, 2, 4, 8} within {1, 2, 4, 8, 16} is "1..8".
std::string RangesWithin(const std::vector<int64_t>& values, const std::vector<int64_t>& all);

// Columns padded to their widest cell, two spaces apart; the first `left` columns are left-aligned.
std::string AlignedTable(const std::vector<std::vector<std::string>>& rows, size_t left,
                         const std::string& indent);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_NUMBER_TEXT_H_
