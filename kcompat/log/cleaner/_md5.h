/* MD5 (RFC 1321) of one key that lies in memory as a whole, as the two numbers that the offset map stores. */
#ifndef KCOMPAT_CLEANER_MD5_H
#define KCOMPAT_CLEANER_MD5_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t first; /* bytes 0 to 7, little-endian */
    uint64_t second;
} digest;

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

static inline void md5_block(uint32_t state[4], const uint8_t *from)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], w[16];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)from[4 * i] | (uint32_t)from[4 * i + 1] << 8 | (uint32_t)from[4 * i + 2] << 16
            | (uint32_t)from[4 * i + 3] << 24;
    for (int i = 0; i < 16; i += 4)
        MD5_FOUR(MD5_F, i, w[i], w[i + 1], w[i + 2], w[i + 3], 7, 12, 17, 22);
    for (int i = 0; i < 16; i += 4)
        MD5_FOUR(MD5_G, 16 + i, w[(5 * i + 1) & 15], w[(5 * i + 6) & 15], w[(5 * i + 11) & 15], w[5 * i & 15],
            5, 9, 14, 20);
    for (int i = 0; i < 16; i += 4)
        MD5_FOUR(MD5_H, 32 + i, w[(3 * i + 5) & 15], w[(3 * i + 8) & 15], w[(3 * i + 11) & 15],
            w[(3 * i + 14) & 15], 4, 11, 16, 23);
    for (int i = 0; i < 16; i += 4)
        MD5_FOUR(MD5_I, 48 + i, w[7 * i & 15], w[(7 * i + 7) & 15], w[(7 * i + 14) & 15], w[(7 * i + 21) & 15],
            6, 10, 15, 21);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static inline digest md5(const uint8_t *data, size_t size)
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint64_t bits = (uint64_t)size * 8;
    uint8_t tail[128] = {0};
    for (; size >= 64; size -= 64, data += 64)
        md5_block(state, data);
    memcpy(tail, data, size);
    tail[size] = 0x80;
    uint8_t *last = size < 56 ? tail : tail + 64;
    for (int i = 0; i < 8; i++)
        last[56 + i] = (uint8_t)(bits >> (8 * i));
    md5_block(state, tail);
    if (last != tail)
        md5_block(state, last);
    return (digest){state[0] | (uint64_t)state[1] << 32, state[2] | (uint64_t)state[3] << 32};
}

#endif
