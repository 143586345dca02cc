/* CRC-32 of the polynomial that zlib and Java use, sixteen bytes at a time. */
#ifndef KCOMPAT_RECORDS_CRC32_H
#define KCOMPAT_RECORDS_CRC32_H

#include <stdint.h>

/* Table k: what a byte is worth k bytes before the end. */
static uint32_t crc_tables[16][256];

/* To be called once, before any CRC. */
static void fill_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        crc_tables[0][byte] = crc;
    }
    for (int table = 1; table < 16; table++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = crc_tables[table - 1][byte];
            crc_tables[table][byte] = crc >> 8 ^ crc_tables[0][crc & 0xFF];
        }
}

/* What eight bytes are worth before `further` others; a CRC so far goes into the first four. */
static inline uint32_t crc_of_eight(uint32_t crc, const uint8_t *at, int further)
{
    const uint32_t (*table)[256] = (const uint32_t (*)[256])crc_tables + further;
    const uint8_t first = (uint8_t)crc, second = (uint8_t)(crc >> 8);
    const uint8_t third = (uint8_t)(crc >> 16), fourth = (uint8_t)(crc >> 24);
    return table[7][at[0] ^ first] ^ table[6][at[1] ^ second] ^ table[5][at[2] ^ third]
        ^ table[4][at[3] ^ fourth] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
}

static uint32_t crc32_of(const uint8_t *at, const uint8_t *end)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (; end - at >= 16; at += 16)
        crc = crc_of_eight(crc, at, 8) ^ crc_of_eight(0, at + 8, 0);
    if (end - at >= 8) {
        crc = crc_of_eight(crc, at, 0);
        at += 8;
    }
    for (; at < end; at++)
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *at) & 0xFF];
    return ~crc;
}

#endif
