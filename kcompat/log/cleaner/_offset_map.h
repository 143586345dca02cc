/* The newest offset of every key in an array of entries that the caller owns: open addressing with double
 * hashing. An entry without a digest is empty.
 */
#ifndef KCOMPAT_CLEANER_OFFSET_MAP_H
#define KCOMPAT_CLEANER_OFFSET_MAP_H

#include "_md5.h"
#include "kcompat/records/_record.h"

typedef struct {
    uint64_t first;
    uint64_t second;
    int64_t offset;
} entry;
_Static_assert(sizeof(entry) == 3 * sizeof(uint64_t), "an entry is three numbers of the caller's array");

typedef struct {
    Py_buffer buffer;
    entry *entries;
    uint64_t slots;
} table;

static int open_table(PyObject *object, table *map)
{
    if (PyObject_GetBuffer(object, &map->buffer, PyBUF_WRITABLE) < 0)
        return 0;
    map->entries = map->buffer.buf;
    map->slots = (uint64_t)map->buffer.len / sizeof(entry);
    if (map->slots >= 2 && (uint64_t)map->buffer.len % sizeof(entry) == 0 && (uintptr_t)map->buffer.buf % 8 == 0)
        return 1;
    PyBuffer_Release(&map->buffer);
    PyErr_SetString(PyExc_ValueError, "a table has two entries of 24 bytes or more");
    return 0;
}

static inline int is_empty(const entry *slot)
{
    return (slot->first | slot->second) == 0;
}

/* The entry of a digest, or the empty one where it belongs; NULL where neither is. */
static inline entry *seek(const table *map, digest key)
{
    uint64_t slot = key.first % map->slots, step = 0;
    for (uint64_t tries = map->slots; tries > 0; tries--) {
        entry *found = map->entries + slot;
        if ((found->first == key.first && found->second == key.second) || is_empty(found))
            return found;
        if (step == 0)
            step = 1 + key.second % (map->slots - 1);
        slot += step;
        if (slot >= map->slots)
            slot -= map->slots;
    }
    return NULL;
}

/* Have the memory brought near where the entry of a digest is looked for first. */
static inline void prefetch(const table *map, digest key)
{
#ifdef __GNUC__
    __builtin_prefetch(map->entries + key.first % map->slots);
#else
    (void)map, (void)key;
#endif
}

#endif
