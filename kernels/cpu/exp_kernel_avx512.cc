// Sixteen exponentials at a time; each line is one line of Exp().
#include <immintrin.h>

#include "kernels/cpu/exp_kernel.h"

namespace batchvar {
namespace {

__m512 PowerOfTwo(__m512i n) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
}

__m512 Exp16(__m512 x) {
  const __m512 magic = _mm512_set1_ps(0x1.8p23f), one = _mm512_set1_ps(1.0f);
  // min and max return their second operand when the first is NaN, as the comparisons do.
  __m512 t = _mm512_min_ps(x, _mm512_set1_ps(89.0f));
  t = _mm512_max_ps(t, _mm512_set1_ps(-104.0f));
  const __m512 shifted = _mm512_fmadd_ps(t, _mm512_set1_ps(0x1.715476p+0f), magic);
  const __m512i n = _mm512_sub_epi32(_mm512_castps_si512(shifted), _mm512_castps_si512(magic));
  const __m512 whole = _mm512_sub_ps(shifted, magic);
  __m512 r = _mm512_fmadd_ps(whole, _mm512_set1_ps(-0x1.62e400p-1f), t);
  r = _mm512_fmadd_ps(whole, _mm512_set1_ps(-0x1.7f7d1cp-20f), r);
  __m512 p = _mm512_set1_ps(0x1.a01a02p-13f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.6c16c2p-10f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.111112p-7f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.555556p-5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.555556p-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
  p = _mm512_fmadd_ps(p, r, one);
  p = _mm512_fmadd_ps(p, r, one);
  const __m512i half = _mm512_srai_epi32(n, 1);
  const __m512 scaled =
      _mm512_mul_ps(_mm512_mul_ps(p, PowerOfTwo(half)), PowerOfTwo(_mm512_sub_epi32(n, half)));
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7FFFFFFF));
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), scaled, nan);
}

}  // namespace

int64_t ExpMinusAvx512(float largest, float* values, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512 x = _mm512_sub_ps(_mm512_loadu_ps(values + i), _mm512_set1_ps(largest));
    _mm512_storeu_ps(values + i, Exp16(x));
  }
  return i;
}

}  // namespace batchvar
