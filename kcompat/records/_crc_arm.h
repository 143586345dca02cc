/* CRCs on AArch64 with its instructions for them, eight bytes at a time. Only _crc.h includes this.
 *
 * They are an extension that nearly every processor has and that compilers do not count on, hence the assembly.
 */
#ifndef KCOMPAT_RECORDS_CRC_ARM_H
#define KCOMPAT_RECORDS_CRC_ARM_H

#ifdef __linux__
#include <sys/auxv.h>
#endif

#define CRC_INSTRUCTION(name, operands, crc, next)                                                                  \
    __asm__(".arch_extension crc\n\t" name " " operands : "+r"(crc) : "r"(next))

#define CRC_BY_INSTRUCTIONS(function, of_eight, of_one)                    \
    static inline uint32_t function(const uint8_t *at, const uint8_t *end) \
    {                                                                      \
        uint32_t crc = UINT32_MAX;                                         \
        uint64_t eight;                                                    \
        for (; end - at >= 8; at += 8) {                                   \
            memcpy(&eight, at, 8);                                         \
            CRC_INSTRUCTION(of_eight, "%w0, %w0, %x1", crc, eight);        \
        }                                                                  \
        for (; at < end; at++)                                             \
            CRC_INSTRUCTION(of_one, "%w0, %w0, %w1", crc, (uint32_t)*at);  \
        return ~crc;                                                       \
    }

CRC_BY_INSTRUCTIONS(crc32_without_tables, "crc32x", "crc32b")
CRC_BY_INSTRUCTIONS(crc32c_without_tables, "crc32cx", "crc32cb")

static inline void fill_crc_factors(crc_kind *kind, uint32_t polynomial)
{
    (void)kind;
    (void)polynomial;
}

static enum crc_way best_crc_way(void)
{
#ifdef __linux__
    const unsigned long crc_instructions = 1ul << 7; /* HWCAP_CRC32, which not every system's header names */
    return getauxval(AT_HWCAP) & crc_instructions ? CRC_BY_INSTRUCTION : CRC_BY_TABLES;
#else
    return CRC_BY_INSTRUCTION; /* Apple's processors all have them */
#endif
}

#endif
