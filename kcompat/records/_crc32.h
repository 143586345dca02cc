/* CRC-32 of the polynomial that zlib and Java use, eight bytes at a time. */
#ifndef KCOMPAT_RECORDS_CRC32_H
#define KCOMPAT_RECORDS_CRC32_H

#include <stdint.h>

/* Table k: what a byte is worth k bytes before the end. */
static uint32_t crc_tables[8][256];

/* To be called once, before any CRC. */
static void fill_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        crc_tables[0][byte] = crc;
    }
    for (int table = 1; table < 8; table++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = crc_tables[table - 1][byte];
            crc_tables[table][byte] = crc >> 8 ^ crc_tables[0][crc & 0xFF];
        }
}

static inline uint32_t little_word(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t crc32_of(const uint8_t *at, const uint8_t *end)
{
    const uint32_t (*table)[256] = (const uint32_t (*)[256])crc_tables;
    uint32_t crc = 0xFFFFFFFFu;
    for (; end - at >= 8; at += 8) {
        uint32_t low = crc ^ little_word(at), high = little_word(at + 4);
        crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF]
            ^ table[4][low >> 24] ^ table[3][high & 0xFF] ^ table[2][high >> 8 & 0xFF]
            ^ table[1][high >> 16 & 0xFF] ^ table[0][high >> 24];
    }
    for (; at < end; at++)
        crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xFF];
    return ~crc;
}

#endif
