#include "tests/bench/narrow_chain.h"

#include <immintrin.h>

namespace batchvar {

void NarrowChain(const float* x, const PackedMatrix& weights, float* out) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xFFFF0000));
  for (int64_t panel = 0; panel < weights.num_panels(); ++panel) {
    for (int half = 0; half < 2; ++half) {
      const uint16_t* words = weights.Panel(panel) + 16 * half;
      __m256 first = _mm256_setzero_ps(), second = _mm256_setzero_ps();
      for (int64_t k = 0; k < weights.k(); ++k, words += kPanelColumns) {
        const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
        const __m256 a = _mm256_set1_ps(x[k]);
        first = _mm256_fmadd_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(both, 16)), first);
        second = _mm256_fmadd_ps(a, _mm256_castsi256_ps(_mm256_and_si256(both, high)), second);
      }
      _mm256_storeu_ps(out + panel * kPanelColumns + 8 * half, first);
      _mm256_storeu_ps(out + panel * kPanelColumns + 16 + 8 * half, second);
    }
  }
}

}  // namespace batchvar
