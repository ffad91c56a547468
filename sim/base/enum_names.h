// How the values of an enum are spelled: one table for reading and for printing. Tables lie next to
// their enums (sim/plan/policy_words.h) or where they are read (sim/config/spec_names.h).
#ifndef BATCHVAR_SIM_BASE_ENUM_NAMES_H_
#define BATCHVAR_SIM_BASE_ENUM_NAMES_H_

#include <initializer_list>
#include <utility>

namespace batchvar {

template <typename T>
using EnumNames = std::initializer_list<std::pair<const char*, T>>;

// The name of `value` in a table; "?" when it has none.
template <typename T>
const char* NameIn(EnumNames<T> names, T value) {
  for (const auto& [name, candidate] : names) {
    if (candidate == value) return name;
  }
  return "?";
}

}  // namespace batchvar

#endif  // BATCHVAR_SIM_BASE_ENUM_NAMES_H_
