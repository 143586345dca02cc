/* CRCs on AArch64 with its instructions for them, eight bytes at a time. Only _crc.h includes this. */
#ifndef KCOMPAT_RECORDS_CRC_ARM_H
#define KCOMPAT_RECORDS_CRC_ARM_H

#include <arm_acle.h>

static inline void fill_crc_factors(crc_kind *kind, uint32_t polynomial)
{
    (void)kind;
    (void)polynomial;
}

static enum crc_way best_crc_way(void)
{
    return CRC_BY_INSTRUCTION;
}

static inline uint32_t crc32_without_tables(const uint8_t *at, const uint8_t *end)
{
    uint32_t crc = UINT32_MAX;
    uint64_t eight;
    for (; end - at >= 8; at += 8) {
        memcpy(&eight, at, 8);
        crc = __crc32d(crc, eight);
    }
    for (; at < end; at++)
        crc = __crc32b(crc, *at);
    return ~crc;
}

static inline uint32_t crc32c_without_tables(const uint8_t *at, const uint8_t *end)
{
    uint32_t crc = UINT32_MAX;
    uint64_t eight;
    for (; end - at >= 8; at += 8) {
        memcpy(&eight, at, 8);
        crc = __crc32cd(crc, eight);
    }
    for (; at < end; at++)
        crc = __crc32cb(crc, *at);
    return ~crc;
}

#endif
