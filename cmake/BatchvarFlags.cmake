# Flags that every target shares. Bits matter here: contraction is off everywhere and fast-math is
# refused, because either would change the sums that this project exists to compare.
foreach(flags "${CMAKE_CXX_FLAGS}" "${CMAKE_CXX_FLAGS_RELEASE}" "$ENV{CXXFLAGS}")
  if(flags MATCHES "-ffast-math|-Ofast|-funsafe-math-optimizations|-fassociative-math")
    message(FATAL_ERROR "batchvar: fast-math flags change the bits it measures; remove: ${flags}")
  endif()
endforeach()

add_library(batchvar_flags INTERFACE)
target_include_directories(batchvar_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(batchvar_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
    -Woverloaded-virtual -Wimplicit-fallthrough>
  # GCC 12 sees overlaps in std::string concatenation that are not there (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>>)
if(BATCHVAR_SANITIZE)
  target_compile_options(batchvar_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${BATCHVAR_SANITIZE} -fno-omit-frame-pointer -g>)
  target_link_options(batchvar_flags INTERFACE -fsanitize=${BATCHVAR_SANITIZE})
endif()
