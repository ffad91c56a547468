// Assertions for our own mistakes. A failed check prints place and reason and aborts; it is never
// the answer to bad user input (that is absl::Status, see sim/status/located_error.h).
// Standard library only, no exceptions; used by every room.
#ifndef BATCHVAR_SIM_BASE_CHECK_H_
#define BATCHVAR_SIM_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace batchvar {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "batchvar: internal error at %s:%d: check failed: %s\n", file, line,
               condition);
  std::abort();
}

}  // namespace batchvar

#define BV_CHECK(condition)                                    \
  do {                                                         \
    if (!(condition)) [[unlikely]] {                           \
      ::batchvar::CheckFailed(__FILE__, __LINE__, #condition); \
    }                                                          \
  } while (false)

#endif  // BATCHVAR_SIM_BASE_CHECK_H_
