// Strict scalars. YAML has many spellings for one number and one boolean; a file that another tool
// would read differently is refused here, and the message says what to write instead.
#ifndef BATCHVAR_SIM_CONFIG_SCALAR_TEXT_H_
#define BATCHVAR_SIM_CONFIG_SCALAR_TEXT_H_

#include <cstdint>
#include <string>

namespace batchvar {

// Each returns "" and sets *value, or returns what is wrong and leaves *value alone.

// -?(0|[1-9][0-9]*) within 64 bits. No 010, 1_000, 1e3, 0x10, +1 or 8192.0.
std::string ParseInteger(const std::string& text, int64_t* value);
std::string ParseUnsigned(const std::string& text, uint64_t* value);
// Finite and decimal, with a digit on both sides of the point.
std::string ParseNumber(const std::string& text, double* value);
// Only true and false.
std::string ParseBool(const std::string& text, bool* value);

// The shortest decimal text that reads back as the same double.
std::string NumberText(double value);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_SCALAR_TEXT_H_
