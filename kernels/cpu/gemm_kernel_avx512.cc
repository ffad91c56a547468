// The vector kernels for AVX-512 (F, BW, VL, DQ). Compiled with those flags; see gemm_kernel.h for
// what may be included here.
#include <immintrin.h>

#include "kernels/cpu/gemm_kernel_simd.h"

namespace batchvar {

namespace {

struct Avx512 {
  using F = __m512;
  using I = __m512i;
  static constexpr int kLanes = 16;
  // A tile of 4 rows x 32 columns keeps sums and scales in its 32 registers.
  static constexpr int kMostRows = 4;
  static constexpr int kFewRowsParts = 1;

  static I Zero() { return _mm512_setzero_si512(); }
  static I Set(uint32_t x) { return _mm512_set1_epi32(static_cast<int32_t>(x)); }
  static I Broadcast(const uint32_t* p) { return Set(*p); }
  static I Load(const void* p) { return _mm512_loadu_si512(p); }
  static void Store(uint32_t* p, I x) { _mm512_storeu_si512(p, x); }
  static F LoadFloats(const float* p) { return _mm512_loadu_ps(p); }
  static void StoreFloats(float* p, F x) { _mm512_storeu_ps(p, x); }
  static F Float(I x) { return _mm512_castsi512_ps(x); }
  static I Bits(F x) { return _mm512_castps_si512(x); }

  static I Add(I a, I b) { return _mm512_add_epi32(a, b); }
  static I Subtract(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I Max(I a, I b) { return _mm512_max_epi32(a, b); }
  static I MaxU32(I a, I b) { return _mm512_max_epu32(a, b); }
  static I MaxU8(I a, I b) { return _mm512_max_epu8(a, b); }
  static I SubtractSaturatedU8(I a, I b) { return _mm512_subs_epu8(a, b); }
  static I And(I a, I b) { return _mm512_and_si512(a, b); }
  static I AndNot(I a, I b) { return _mm512_andnot_si512(a, b); }  // ~a & b
  static I Or(I a, I b) { return _mm512_or_si512(a, b); }
  template <int kBits>
  static I ShiftLeft(I x) {
    return _mm512_slli_epi32(x, kBits);
  }
  template <int kBits>
  static I ShiftRight(I x) {
    return _mm512_srli_epi32(x, kBits);
  }
  template <int kBits>
  static I ShiftRight16(I x) {
    return _mm512_srli_epi16(x, kBits);
  }
  // All ones where a > b, unsigned.
  static I GreaterU32(I a, I b) { return _mm512_movm_epi32(_mm512_cmpgt_epu32_mask(a, b)); }
  static bool AllAtMost(I x, uint32_t most) { return _mm512_cmpgt_epu32_mask(x, Set(most)) == 0; }
  static I Select(I mask, I yes, I no) {
    return _mm512_mask_blend_epi32(_mm512_movepi32_mask(mask), no, yes);
  }
  // Lanes of `outside` whose products are all 0 and whose c is finite.
  static I ZeroProductLanes(I outside, I nonzero, I c) {
    const __mmask16 zero = _mm512_testn_epi32_mask(nonzero, nonzero);
    const __mmask16 finite = _mm512_cmple_epu32_mask(And(c, Set(0x7FFFFFFF)), Set(0x7F7FFFFF));
    return _mm512_maskz_mov_epi32(static_cast<__mmask16>(zero & finite), outside);
  }

  static F Multiply(F a, F b) { return _mm512_mul_ps(a, b); }
  static F AddFloats(F a, F b) { return _mm512_add_ps(a, b); }
  static F MultiplyAdd(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  // x * 2^shift as bits; scale = shift << 23.
  static I Scaled(F x, I scale) { return _mm512_add_epi32(_mm512_castps_si512(x), scale); }
  static I Truncate(I bits) { return _mm512_cvttps_epi32(_mm512_castsi512_ps(bits)); }
  // total * 2^-shift, truncated to 24 bits by the rounding mode of this one instruction.
  static F Unscaled(I total, I scale) {
    const F truncated = _mm512_cvt_roundepi32_ps(total, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    return _mm512_mul_ps(truncated, Float(_mm512_sub_epi32(Set(127u << 23), scale)));
  }
  static F Canonical(F x) {
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), Float(Set(0x7FFFFFFF)));
  }

  template <DType kType>
  static void Widen(const uint16_t* words, F* first, F* second) {
    if constexpr (kType == DType::kBf16) {
      const I both = Load(words);
      *first = Float(ShiftLeft<16>(both));
      *second = Float(And(both, Set(0xFFFF0000)));
    } else {
      *first = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)));
      *second = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + 16)));
    }
  }
  // 16-bit words, zero-extended, to the lanes of the vectors that Widen makes.
  template <DType kType>
  static void Split(I words, I* first, I* second) {
    if constexpr (kType == DType::kBf16) {
      *first = And(words, Set(0xFFFF));
      *second = ShiftRight<16>(words);
    } else {
      *first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(words));
      *second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(words, 1));
    }
  }

  template <DType kType>
  static I PairExponents(I even, I odd) {
    constexpr int kChoose = 0xCA;  // first ? second : third, bit by bit
    const I low_bytes = Set(0x00FF00FF);
    if constexpr (kType == DType::kBf16) {
      // bf16: the field is bits 7..14. A subnormal counts as 0: it never decides (row_blocks.h).
      return _mm512_ternarylogic_epi32(low_bytes, _mm512_srli_epi16(even, 7),
                                       _mm512_slli_epi16(odd, 1), kChoose);
    } else {
      return _mm512_ternarylogic_epi32(low_bytes, _mm512_srli_epi16(HalfExponent(even), 8),
                                       HalfExponent(odd), kChoose);
    }
  }
  // fp16: 128 + the field (1 for a subnormal) in the high byte, 0 for a zero.
  static I HalfExponent(I words) {
    constexpr int kMaskThenOr = 0xF8;  // first | (second & third)
    const __mmask32 nonzero = _mm512_test_epi16_mask(words, Set(0x7FFF7FFF));
    const I field = _mm512_ternarylogic_epi32(Set(0x80008000), _mm512_srli_epi16(words, 2),
                                              Set(0x1FFF1FFF), kMaskThenOr);
    return _mm512_maskz_max_epu16(nonzero, field, _mm512_set1_epi16(static_cast<int16_t>(0x8100)));
  }
};

}  // namespace

const GemmKernels kAvx512GemmKernels = {Avx512::kMostRows, true, AddFused<Avx512>, AddChain<Avx512>,
                                        WidenRows<Avx512>};

}  // namespace batchvar
