// Eight exponentials at a time; each line is one line of Exp().
#include <immintrin.h>

#include "kernels/cpu/exp_kernel.h"

namespace batchvar {
namespace {

__m256 PowerOfTwo(__m256i n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

__m256 Exp8(__m256 x) {
  const __m256 magic = _mm256_set1_ps(0x1.8p23f), one = _mm256_set1_ps(1.0f);
  // min and max return their second operand when the first is NaN, as the comparisons do.
  __m256 t = _mm256_min_ps(x, _mm256_set1_ps(89.0f));
  t = _mm256_max_ps(t, _mm256_set1_ps(-104.0f));
  const __m256 shifted = _mm256_fmadd_ps(t, _mm256_set1_ps(0x1.715476p+0f), magic);
  const __m256i n = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_castps_si256(magic));
  const __m256 whole = _mm256_sub_ps(shifted, magic);
  __m256 r = _mm256_fmadd_ps(whole, _mm256_set1_ps(-0x1.62e400p-1f), t);
  r = _mm256_fmadd_ps(whole, _mm256_set1_ps(-0x1.7f7d1cp-20f), r);
  __m256 p = _mm256_set1_ps(0x1.a01a02p-13f);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.6c16c2p-10f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.111112p-7f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555556p-5f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555556p-3f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
  p = _mm256_fmadd_ps(p, r, one);
  p = _mm256_fmadd_ps(p, r, one);
  const __m256i half = _mm256_srai_epi32(n, 1);
  const __m256 scaled =
      _mm256_mul_ps(_mm256_mul_ps(p, PowerOfTwo(half)), PowerOfTwo(_mm256_sub_epi32(n, half)));
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  return _mm256_blendv_ps(scaled, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

}  // namespace

int64_t ExpMinusAvx2(float largest, float* values, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 x = _mm256_sub_ps(_mm256_loadu_ps(values + i), _mm256_set1_ps(largest));
    _mm256_storeu_ps(values + i, Exp8(x));
  }
  return i;
}

}  // namespace batchvar
