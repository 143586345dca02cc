/* CRCs on x86-64: carry-less multiplication of 128 or 512 bits at a time. Only _crc.h includes this.
 *
 * Bits are coefficients of polynomials over GF(2); reflected means that the lowest bit of a word is that of its
 * highest power. A CRC is the remainder, modulo a polynomial of degree 32, of the message times x^32. Bytes that
 * stand n bits before others are worth themselves times x^n, and for x^n its remainder will do. So 128 bits are
 * "folded" into those n bits further on by two products, one for each half, until 128 bits are all that is left.
 */
#ifndef KCOMPAT_RECORDS_CRC_X86_H
#define KCOMPAT_RECORDS_CRC_X86_H

#include <immintrin.h>
#include <stddef.h>

/* Bytes from which on these pay off: 128 bits against tables, against the instruction for CRC-32C, and 512. */
enum { WORTH_FOLDING = 16, CRC32C_WORTH_FOLDING = 256, WORTH_512 = 128 };

#define WITH_128 __attribute__((target("pclmul,ssse3,sse4.2")))
#define WITH_512 __attribute__((target("pclmul,avx512f,avx512vl,vpclmulqdq")))
#if defined(__clang__) && __clang_major__ >= 14 /* where the instruction has got a name of its own */
#define WITH_CRC32C __attribute__((target("sse4.2,crc32")))
#else
#define WITH_CRC32C __attribute__((target("sse4.2")))
#endif

/* The remainder of x^(power - 1), in the upper half of a word: a product of two words comes out times x. */
static uint64_t crc_factor(uint32_t polynomial, int power)
{
    uint32_t remainder = 1u << 31;
    while (--power > 0)
        remainder = crc_shift(polynomial, remainder);
    return (uint64_t)remainder << 32;
}

static void fill_crc_fold(uint64_t factors[2], uint32_t polynomial, int distance)
{
    factors[0] = crc_factor(polynomial, distance + 64);
    factors[1] = crc_factor(polynomial, distance);
}

/* The 33 bits of x^64 divided by the polynomial. */
static uint64_t crc_inverse(uint32_t polynomial)
{
    uint32_t remainder = 1; /* x^31 */
    uint64_t quotient = 0;
    for (int bit = 0; bit <= 32; bit++) {
        quotient |= (uint64_t)(remainder & 1) << bit;
        remainder = crc_shift(polynomial, remainder);
    }
    return quotient;
}

static void fill_crc_factors(crc_kind *kind, uint32_t polynomial)
{
    fill_crc_fold(kind->by_128, polynomial, 128);
    fill_crc_fold(kind->by_512, polynomial, 512);
    fill_crc_fold(kind->by_2048, polynomial, 2048);
    kind->last_128[0] = crc_factor(polynomial, 96);
    kind->last_128[1] = crc_factor(polynomial, 64);
    kind->division[0] = crc_inverse(polynomial);
    kind->division[1] = (uint64_t)polynomial << 1 | 1;
}

WITH_128 static inline __m128i crc_load(const void *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}

WITH_128 static inline __m128i crc_fold(__m128i folded, __m128i factors, __m128i into)
{
    const __m128i earlier = _mm_clmulepi64_si128(folded, factors, 0x00);
    return _mm_xor_si128(_mm_xor_si128(earlier, _mm_clmulepi64_si128(folded, factors, 0x11)), into);
}

/* The bytes `by` places further on, or back for a negative number; zeros come in. */
WITH_128 static inline __m128i crc_move(__m128i bytes, ptrdiff_t by)
{
    static const uint8_t places[48] = {
        128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128};
    return _mm_shuffle_epi8(bytes, crc_load(places + 16 - by));
}

/* The first 16 to 31 bytes, so that whole blocks of 16 remain: zeros before a message have no effect. */
WITH_128 static inline __m128i crc_begin(const crc_kind *kind, const uint8_t **at, const uint8_t *end)
{
    const ptrdiff_t odd = (end - *at) & 15;
    const __m128i ones = _mm_cvtsi32_si128(-1); /* what a CRC begins with */
    const __m128i first = crc_move(_mm_xor_si128(crc_load(*at), ones), 16 - odd);
    const __m128i second = _mm_xor_si128(crc_load(*at + odd), crc_move(ones, -odd));
    *at += odd + 16;
    return crc_fold(first, crc_load(kind->by_128), second);
}

/* The remainder of 128 bits times x^32: folded into 96 bits, into 64, and those divided as Barrett does. */
WITH_128 static inline uint32_t crc_end(const crc_kind *kind, __m128i folded)
{
    const __m128i low_32 = _mm_set_epi32(0, 0, 0, -1);
    const __m128i factors = crc_load(kind->last_128), division = crc_load(kind->division);
    const __m128i later = _mm_slli_si128(_mm_srli_si128(folded, 8), 4);
    const __m128i left_96 = _mm_xor_si128(later, _mm_clmulepi64_si128(folded, factors, 0x00));
    const __m128i sum = _mm_xor_si128(left_96, _mm_clmulepi64_si128(left_96, factors, 0x10));
    const __m128i left_64 = _mm_srli_si128(sum, 8);
    const __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(left_64, low_32), division, 0x00);
    const __m128i product = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_32), division, 0x10);
    return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(left_64, product), 1);
}

WITH_128 static inline __m128i crc_fold_serially(
    const crc_kind *kind, __m128i folded, const uint8_t *at, const uint8_t *end)
{
    const __m128i factors = crc_load(kind->by_128);
    for (; at < end; at += 16)
        folded = crc_fold(folded, factors, crc_load(at));
    return folded;
}

/* For 16 bytes and more. */
WITH_128 static uint32_t crc_by_128(const crc_kind *kind, const uint8_t *at, const uint8_t *end)
{
    __m128i folded = crc_begin(kind, &at, end);
    if (end - at >= 48 + 64) {
        const __m128i factors = crc_load(kind->by_512);
        __m128i second = crc_load(at), third = crc_load(at + 16), fourth = crc_load(at + 32);
        for (at += 48; end - at >= 64; at += 64) {
            folded = crc_fold(folded, factors, crc_load(at));
            second = crc_fold(second, factors, crc_load(at + 16));
            third = crc_fold(third, factors, crc_load(at + 32));
            fourth = crc_fold(fourth, factors, crc_load(at + 48));
        }
        const __m128i next = crc_load(kind->by_128);
        folded = crc_fold(crc_fold(crc_fold(folded, next, second), next, third), next, fourth);
    }
    return crc_end(kind, crc_fold_serially(kind, folded, at, end));
}

WITH_512 static inline __m512i crc_load_four(const uint8_t *at)
{
    return _mm512_loadu_si512(at);
}

WITH_512 static inline __m512i crc_fold_four(__m512i folded, __m512i factors, __m512i into)
{
    const __m512i earlier = _mm512_clmulepi64_epi128(folded, factors, 0x00);
    const __m512i later = _mm512_clmulepi64_epi128(folded, factors, 0x11);
    return _mm512_ternarylogic_epi64(earlier, later, into, 0x96 /* exclusive or of the three */);
}

/* For 80 bytes and more. */
WITH_512 static uint32_t crc_by_512(const crc_kind *kind, const uint8_t *at, const uint8_t *end)
{
    const __m128i begun = crc_begin(kind, &at, end);
    __m512i folded = _mm512_inserti32x4(crc_load_four(at - 16), begun, 0);
    const __m512i next = _mm512_broadcast_i32x4(crc_load(kind->by_512));
    at += 48;
    if (end - at >= 192 + 256) {
        const __m512i factors = _mm512_broadcast_i32x4(crc_load(kind->by_2048));
        __m512i second = crc_load_four(at), third = crc_load_four(at + 64), fourth = crc_load_four(at + 128);
        for (at += 192; end - at >= 256; at += 256) {
            folded = crc_fold_four(folded, factors, crc_load_four(at));
            second = crc_fold_four(second, factors, crc_load_four(at + 64));
            third = crc_fold_four(third, factors, crc_load_four(at + 128));
            fourth = crc_fold_four(fourth, factors, crc_load_four(at + 192));
        }
        folded = crc_fold_four(crc_fold_four(crc_fold_four(folded, next, second), next, third), next, fourth);
    }
    for (; end - at >= 64; at += 64)
        folded = crc_fold_four(folded, next, crc_load_four(at));
    uint8_t four[64];
    _mm512_storeu_si512(four, folded);
    const __m128i first = crc_fold_serially(kind, _mm512_castsi512_si128(folded), four + 16, four + 64);
    return crc_end(kind, crc_fold_serially(kind, first, at, end));
}

WITH_CRC32C static inline uint32_t crc32c_by_instruction(const uint8_t *at, const uint8_t *end)
{
    uint64_t crc = UINT32_MAX, eight;
    for (; end - at >= 8; at += 8) {
        memcpy(&eight, at, 8);
        crc = _mm_crc32_u64(crc, eight);
    }
    for (; at < end; at++)
        crc = _mm_crc32_u8((uint32_t)crc, *at);
    return ~(uint32_t)crc;
}

static inline enum crc_way best_crc_way(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.2"))
        return CRC_BY_TABLES;
    return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512vl") ? CRC_BY_512 : CRC_BY_128;
}

static inline uint32_t crc_by_folding(const crc_kind *kind, const uint8_t *at, const uint8_t *end)
{
    if (kind->way == CRC_BY_512 && end - at >= WORTH_512)
        return crc_by_512(kind, at, end);
    return crc_by_128(kind, at, end);
}

static inline uint32_t crc32_without_tables(const uint8_t *at, const uint8_t *end)
{
    if (end - at < WORTH_FOLDING)
        return crc_by_tables(&crc32_kind, at, end);
    return crc_by_folding(&crc32_kind, at, end);
}

static inline uint32_t crc32c_without_tables(const uint8_t *at, const uint8_t *end)
{
    if (end - at < CRC32C_WORTH_FOLDING)
        return crc32c_by_instruction(at, end);
    return crc_by_folding(&crc32c_kind, at, end);
}

#endif
