/* The CRCs of records for test_crc.py, in the way that it asks for. */
#include "kcompat/records/_crc.h"

/* Whether this processor has that way. */
int prepare(int way)
{
    prepare_crc32();
    prepare_crc32c();
    if (way > (int)crc32_kind.way || (way != CRC_BY_TABLES && !crc32c_is_fast()))
        return 0;
    if (way == CRC_BY_INSTRUCTION && crc32_kind.way != CRC_BY_INSTRUCTION)
        return 0;
    crc32_kind.way = crc32c_kind.way = (enum crc_way)way;
    return 1;
}

uint32_t probe_crc32(const uint8_t *at, size_t size)
{
    return crc32_of(at, at + size);
}

uint32_t probe_crc32c(const uint8_t *at, size_t size)
{
    return crc32c_of(at, at + size);
}
