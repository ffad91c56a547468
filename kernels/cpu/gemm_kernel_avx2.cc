// The vector kernels for AVX2. Compiled with -mavx2 -mfma -mf16c; see gemm_kernel.h for what may
// be included here.
#include <immintrin.h>

#include "kernels/cpu/gemm_kernel_simd.h"

namespace batchvar {

namespace {

struct Avx2 {
  using F = __m256;
  using I = __m256i;
  static constexpr int kLanes = 8;
  // A tile of 4 rows x 16 columns keeps its sums in registers; its scales come from memory. One or
  // two rows take all 32 columns at once: more chains hide the latency from sum to sum.
  static constexpr int kMostRows = 4;
  static constexpr int kFewRowsParts = 2;

  static I Zero() { return _mm256_setzero_si256(); }
  static I Set(uint32_t x) { return _mm256_set1_epi32(static_cast<int32_t>(x)); }
  static I Broadcast(const uint32_t* p) { return Set(*p); }
  static I Load(const void* p) { return _mm256_loadu_si256(static_cast<const I*>(p)); }
  static void Store(uint32_t* p, I x) { _mm256_storeu_si256(reinterpret_cast<I*>(p), x); }
  static F LoadFloats(const float* p) { return _mm256_loadu_ps(p); }
  static void StoreFloats(float* p, F x) { _mm256_storeu_ps(p, x); }
  static F Float(I x) { return _mm256_castsi256_ps(x); }
  static I Bits(F x) { return _mm256_castps_si256(x); }

  static I Add(I a, I b) { return _mm256_add_epi32(a, b); }
  static I Subtract(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I Max(I a, I b) { return _mm256_max_epi32(a, b); }
  static I MaxU32(I a, I b) { return _mm256_max_epu32(a, b); }
  static I MaxU8(I a, I b) { return _mm256_max_epu8(a, b); }
  static I SubtractSaturatedU8(I a, I b) { return _mm256_subs_epu8(a, b); }
  static I And(I a, I b) { return _mm256_and_si256(a, b); }
  static I AndNot(I a, I b) { return _mm256_andnot_si256(a, b); }  // ~a & b
  static I Or(I a, I b) { return _mm256_or_si256(a, b); }
  template <int kBits>
  static I ShiftLeft(I x) {
    return _mm256_slli_epi32(x, kBits);
  }
  template <int kBits>
  static I ShiftRight(I x) {
    return _mm256_srli_epi32(x, kBits);
  }
  template <int kBits>
  static I ShiftRight16(I x) {
    return _mm256_srli_epi16(x, kBits);
  }
  // All ones where a > b, unsigned.
  static I GreaterU32(I a, I b) {
    return _mm256_andnot_si256(_mm256_cmpeq_epi32(_mm256_max_epu32(a, b), b), Set(~0u));
  }
  static bool AllAtMost(I x, uint32_t most) {
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(x, Set(most)), Set(most))) ==
           -1;
  }
  static I Select(I mask, I yes, I no) { return _mm256_blendv_epi8(no, yes, mask); }
  // Lanes of `outside` whose products are all 0 and whose c is finite.
  static I ZeroProductLanes(I outside, I nonzero, I c) {
    const I special = GreaterU32(And(c, Set(0x7FFFFFFF)), Set(0x7F7FFFFF));
    return And(outside, AndNot(special, _mm256_cmpeq_epi32(nonzero, Zero())));
  }

  static F Multiply(F a, F b) { return _mm256_mul_ps(a, b); }
  static F AddFloats(F a, F b) { return _mm256_add_ps(a, b); }
  static F MultiplyAdd(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  // x * 2^shift as bits; scale = shift << 23.
  static I Scaled(F x, I scale) { return _mm256_add_epi32(_mm256_castps_si256(x), scale); }
  static I Truncate(I bits) { return _mm256_cvttps_epi32(_mm256_castsi256_ps(bits)); }
  // total * 2^-shift, truncated to 24 bits. The conversion rounds to nearest; where that went away
  // from zero, one is taken off the magnitude again. A total next to 2^31 converts back to -2^31,
  // and the difference still has the right sign.
  static F Unscaled(I total, I scale) {
    const F nearest = _mm256_cvtepi32_ps(total);
    const I over = _mm256_sub_epi32(total, _mm256_cvttps_epi32(nearest));
    const I less = _mm256_srai_epi32(_mm256_sign_epi32(over, total), 31);
    const F truncated = Float(_mm256_add_epi32(_mm256_castps_si256(nearest), less));
    return _mm256_mul_ps(truncated, Float(_mm256_sub_epi32(Set(127u << 23), scale)));
  }
  static F Canonical(F x) {
    const F nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_blendv_ps(x, Float(Set(0x7FFFFFFF)), nan);
  }

  template <DType kType>
  static void Widen(const uint16_t* words, F* first, F* second) {
    if constexpr (kType == DType::kBf16) {
      const I both = Load(words);
      *first = Float(ShiftLeft<16>(both));
      *second = Float(And(both, Set(0xFFFF0000)));
    } else {
      *first = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
      *second = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 8)));
    }
  }
  // 16-bit words, zero-extended, to the lanes of the vectors that Widen makes.
  template <DType kType>
  static void Split(I words, I* first, I* second) {
    if constexpr (kType == DType::kBf16) {
      *first = And(words, Set(0xFFFF));
      *second = ShiftRight<16>(words);
    } else {
      *first = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(words));
      *second = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1));
    }
  }

  template <DType kType>
  static I PairExponents(I even, I odd) {
    const I high_bytes = _mm256_set1_epi16(static_cast<int16_t>(0xFF00));
    if constexpr (kType == DType::kBf16) {
      // bf16: the field is bits 7..14. A subnormal counts as 0: it never decides (row_blocks.h).
      return _mm256_blendv_epi8(_mm256_srli_epi16(even, 7), _mm256_slli_epi16(odd, 1), high_bytes);
    } else {
      return _mm256_blendv_epi8(_mm256_srli_epi16(HalfExponent(even), 8), HalfExponent(odd),
                                high_bytes);
    }
  }
  // fp16: 128 + the field (1 for a subnormal) in the high byte, 0 for a zero.
  static I HalfExponent(I words) {
    const I magnitude = And(words, Set(0x7FFF7FFF));
    const I field = _mm256_max_epu16(_mm256_srli_epi16(magnitude, 2), _mm256_set1_epi16(0x100));
    return _mm256_sign_epi16(Or(field, Set(0x80008000)), magnitude);  // 0 where magnitude is
  }
};

}  // namespace

const GemmKernels kAvx2GemmKernels = {Avx2::kMostRows, true, AddFused<Avx2>, AddChain<Avx2>,
                                      WidenRows<Avx2>};

}  // namespace batchvar
