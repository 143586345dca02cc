/* The two bit-reflected CRCs of records: that of zlib and Java in old messages, CRC-32C in batches v2.
 *
 * A module calls prepare_crc32 or prepare_crc32c once, before crc32_of or crc32c_of. Those take the best way that
 * this processor has: carry-less multiplication, CRC instructions, or tables.
 */
#ifndef KCOMPAT_RECORDS_CRC_H
#define KCOMPAT_RECORDS_CRC_H

#include <stdint.h>
#include <string.h>

enum crc_way { CRC_BY_TABLES, CRC_BY_INSTRUCTION, CRC_BY_128, CRC_BY_512 };

typedef struct {
    enum crc_way way;
    uint32_t tables[16][256]; /* [k]: what a byte is worth k bytes before the end */
    uint64_t by_128[2], by_512[2], by_2048[2]; /* the rest is _crc_x86.h's */
    uint64_t last_128[2], division[2];
} crc_kind;

static crc_kind crc32_kind, crc32c_kind;

/* The remainder times x. */
static inline uint32_t crc_shift(uint32_t polynomial, uint32_t remainder)
{
    return remainder & 1 ? remainder >> 1 ^ polynomial : remainder >> 1;
}

static void fill_crc_tables(crc_kind *kind, uint32_t polynomial)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc_shift(polynomial, crc);
        kind->tables[0][byte] = crc;
    }
    for (int table = 1; table < 16; table++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = kind->tables[table - 1][byte];
            kind->tables[table][byte] = crc >> 8 ^ kind->tables[0][crc & 0xFF];
        }
}

/* What eight bytes are worth before `further` others; a CRC so far goes into the first four. */
static inline uint32_t crc_of_eight(const crc_kind *kind, uint32_t crc, const uint8_t *at, int further)
{
    const uint32_t (*table)[256] = kind->tables + further;
    const uint8_t first = (uint8_t)crc, second = (uint8_t)(crc >> 8);
    const uint8_t third = (uint8_t)(crc >> 16), fourth = (uint8_t)(crc >> 24);
    return table[7][at[0] ^ first] ^ table[6][at[1] ^ second] ^ table[5][at[2] ^ third]
        ^ table[4][at[3] ^ fourth] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
}

static uint32_t crc_by_tables(const crc_kind *kind, const uint8_t *at, const uint8_t *end)
{
    uint32_t crc = UINT32_MAX;
    for (; end - at >= 16; at += 16)
        crc = crc_of_eight(kind, crc, at, 8) ^ crc_of_eight(kind, 0, at + 8, 0);
    if (end - at >= 8) {
        crc = crc_of_eight(kind, crc, at, 0);
        at += 8;
    }
    for (; at < end; at++)
        crc = crc >> 8 ^ kind->tables[0][(crc ^ *at) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 8))
#include "_crc_x86.h"
#elif defined(__aarch64__) && defined(__GNUC__) && (defined(__linux__) || defined(__APPLE__))
#include "_crc_arm.h"
#else
static enum crc_way best_crc_way(void)
{
    return CRC_BY_TABLES;
}

static inline void fill_crc_factors(crc_kind *kind, uint32_t polynomial)
{
    (void)kind;
    (void)polynomial;
}

#define crc32_without_tables(at, end) 0
#define crc32c_without_tables(at, end) 0
#endif

static inline void prepare_crc(crc_kind *kind, uint32_t polynomial)
{
    fill_crc_tables(kind, polynomial);
    fill_crc_factors(kind, polynomial);
    kind->way = best_crc_way();
}

static inline void prepare_crc32(void)
{
    prepare_crc(&crc32_kind, 0xEDB88320u);
}

static inline void prepare_crc32c(void)
{
    prepare_crc(&crc32c_kind, 0x82F63B78u);
}

static inline uint32_t crc32_of(const uint8_t *at, const uint8_t *end)
{
    if (crc32_kind.way == CRC_BY_TABLES)
        return crc_by_tables(&crc32_kind, at, end);
    return crc32_without_tables(at, end);
}

static inline uint32_t crc32c_of(const uint8_t *at, const uint8_t *end)
{
    if (crc32c_kind.way == CRC_BY_TABLES)
        return crc_by_tables(&crc32c_kind, at, end);
    return crc32c_without_tables(at, end);
}

/* Whether crc32c_of is worth using where a library would do. */
static inline int crc32c_is_fast(void)
{
    return crc32c_kind.way != CRC_BY_TABLES;
}

#endif
