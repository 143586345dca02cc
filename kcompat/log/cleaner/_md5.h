/* MD5 (RFC 1321) of several keys at a time, as the two numbers that the offset map stores.
 *
 * A step of MD5 waits for the one before it, so one key leaves most of a processor idle: where the compiler knows
 * vectors, each step is done for eight keys at once. The same text serves for one where it does not.
 */
#ifndef KCOMPAT_CLEANER_MD5_H
#define KCOMPAT_CLEANER_MD5_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t first; /* bytes 0 to 7, little-endian */
    uint64_t second;
} digest;

#ifdef __GNUC__
enum { MD5_LANES = 8 };
typedef uint32_t md5_word __attribute__((vector_size(4 * MD5_LANES)));
#else
enum { MD5_LANES = 1 };
typedef uint32_t md5_word;
#endif

/* One word of every lane, and each by itself. */
typedef union {
    md5_word all;
    uint32_t lane[MD5_LANES];
} md5_lanes;
_Static_assert(sizeof(md5_lanes) == sizeof(uint32_t) * MD5_LANES, "a lane is four bytes of the vector");

static const uint32_t md5_sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

#define MD5_STEP(mix, a, b, word, sine, turn)        \
    do {                                             \
        a += (mix) + (word) + (sine);                \
        a = (b) + ((a << (turn)) | (a >> (32 - (turn)))); \
    } while (0)
#define MD5_F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define MD5_G(x, y, z) MD5_F(z, x, y)
#define MD5_H(x, y, z) ((x) ^ (y) ^ (z))
#define MD5_I(x, y, z) ((y) ^ ((x) | ~(z)))
/* Four steps, after which a, b, c and d are in their places again. */
#define MD5_FOUR(MIX, at, w0, w1, w2, w3, t0, t1, t2, t3)           \
    do {                                                            \
        MD5_STEP(MIX(b, c, d), a, b, w0, md5_sines[(at)], t0);      \
        MD5_STEP(MIX(a, b, c), d, a, w1, md5_sines[(at) + 1], t1);  \
        MD5_STEP(MIX(d, a, b), c, d, w2, md5_sines[(at) + 2], t2);  \
        MD5_STEP(MIX(c, d, a), b, c, w3, md5_sines[(at) + 3], t3);  \
    } while (0)

/* Mix a block into the state, in the lanes whose bits in `active` are set. */
static inline void md5_block(md5_lanes state[4], const md5_lanes w[16], const md5_lanes *active)
{
    md5_word a = state[0].all, b = state[1].all, c = state[2].all, d = state[3].all;
    for (int i = 0; i < 16; i += 4)
        MD5_FOUR(MD5_F, i, w[i].all, w[i + 1].all, w[i + 2].all, w[i + 3].all, 7, 12, 17, 22);
    for (int i = 0; i < 16; i += 4)
        MD5_FOUR(MD5_G, 16 + i, w[(5 * i + 1) & 15].all, w[(5 * i + 6) & 15].all, w[(5 * i + 11) & 15].all,
            w[5 * i & 15].all, 5, 9, 14, 20);
    for (int i = 0; i < 16; i += 4)
        MD5_FOUR(MD5_H, 32 + i, w[(3 * i + 5) & 15].all, w[(3 * i + 8) & 15].all, w[(3 * i + 11) & 15].all,
            w[(3 * i + 14) & 15].all, 4, 11, 16, 23);
    for (int i = 0; i < 16; i += 4)
        MD5_FOUR(MD5_I, 48 + i, w[7 * i & 15].all, w[(7 * i + 7) & 15].all, w[(7 * i + 14) & 15].all,
            w[(7 * i + 21) & 15].all, 6, 10, 15, 21);
    state[0].all += a & active->all;
    state[1].all += b & active->all;
    state[2].all += c & active->all;
    state[3].all += d & active->all;
}

/* Block `number` of a key, padded where the key ends; 0 behind the last. */
static inline int md5_padded(const uint8_t *key, size_t size, size_t number, uint8_t out[64])
{
    size_t start = 64 * number, last = (size + 8) / 64;
    size_t left = start < size ? size - start : 0;
    if (number > last)
        return 0;
    if (left >= 64) {
        memcpy(out, key + start, 64);
        return 1;
    }
    memset(out, 0, 64);
    memcpy(out, key + start, left);
    if (start <= size)
        out[left] = 0x80;
    if (number == last)
        for (int i = 0; i < 8; i++)
            out[56 + i] = (uint8_t)((uint64_t)size * 8 >> (8 * i));
    return 1;
}

/* The digests of up to MD5_LANES keys. */
static void md5(const uint8_t *const keys[], const size_t sizes[], int count, digest out[])
{
    static const uint32_t initial[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    md5_lanes state[4], w[16], active;
    memset(w, 0, sizeof w);
    for (int i = 0; i < 4; i++)
        for (int lane = 0; lane < MD5_LANES; lane++)
            state[i].lane[lane] = initial[i];
    int going = count;
    for (size_t number = 0; going > 0; number++) {
        uint8_t block[64];
        going = 0;
        memset(&active, 0, sizeof active);
        for (int lane = 0; lane < count; lane++) {
            if (!md5_padded(keys[lane], sizes[lane], number, block))
                continue;
            for (int i = 0; i < 16; i++)
                w[i].lane[lane] = (uint32_t)block[4 * i] | (uint32_t)block[4 * i + 1] << 8
                    | (uint32_t)block[4 * i + 2] << 16 | (uint32_t)block[4 * i + 3] << 24;
            active.lane[lane] = ~(uint32_t)0;
            going++;
        }
        if (going)
            md5_block(state, w, &active);
    }
    for (int lane = 0; lane < count; lane++)
        out[lane] = (digest){state[0].lane[lane] | (uint64_t)state[1].lane[lane] << 32,
            state[2].lane[lane] | (uint64_t)state[3].lane[lane] << 32};
}

#endif
