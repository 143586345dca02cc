/* The records of one batch: noting their keys in the offset map, and copying those that stay. */
#ifndef KCOMPAT_CLEANER_RECORDS_H
#define KCOMPAT_CLEANER_RECORDS_H

#include "_offset_map.h"

/* The next record, checked to its end. */
static inline int next_record(cursor *in, record *out)
{
    cursor inside;
    return !open_record(in, &inside) && !read_record(&inside, out) && !skip_headers(&inside, out->headers);
}

/* Some records ahead, so that the memory where their entries stand is under way before it is needed. */
enum { WINDOW = 16 };

typedef struct {
    const uint8_t *start, *end;
    int64_t offset, timestamp_delta;
    field key;
    int has_value;
    digest digest; /* of keys between `low` and `high` alone */
} seen;

typedef struct {
    const table *map;
    cursor in;
    int64_t left; /* records that are still to come */
    int64_t base, low, high;
    seen records[WINDOW];
} window;

/* Digests of the keys in the window that are to be looked for. */
static void find_digests(window *ahead, int count)
{
    const uint8_t *keys[MD5_LANES];
    size_t sizes[MD5_LANES];
    digest found[MD5_LANES];
    seen *wanted[MD5_LANES];
    for (int i = 0, lanes = 0; i < count; i++) {
        seen *next = ahead->records + i;
        if (next->key.data != NULL && next->offset >= ahead->low && next->offset <= ahead->high) {
            keys[lanes] = (const uint8_t *)next->key.data;
            sizes[lanes] = (size_t)next->key.size;
            wanted[lanes++] = next;
        }
        if (lanes == 0 || (lanes < MD5_LANES && i + 1 < count))
            continue;
        md5(keys, sizes, lanes, found);
        for (; lanes > 0; lanes--) {
            wanted[lanes - 1]->digest = found[lanes - 1];
            prefetch(ahead->map, found[lanes - 1]);
        }
    }
}

/* How many were read into the window: 0 at the end of the records; -1 unless there are as many as announced. */
static int look_ahead(window *ahead)
{
    record found;
    int count = 0;
    for (; count < WINDOW && ahead->in.at < ahead->in.end; count++) {
        seen *next = ahead->records + count;
        next->start = ahead->in.at;
        if (ahead->left-- == 0 || !next_record(&ahead->in, &found))
            return -1;
        next->end = ahead->in.at;
        next->offset = add(ahead->base, found.offset_delta);
        next->timestamp_delta = found.timestamp_delta;
        next->key = found.key;
        next->has_value = found.value.data != NULL;
    }
    find_digests(ahead, count);
    return count == 0 && ahead->left != 0 ? -1 : count;
}

/* Note the keys from offset `first` on. The number of new keys; -1 unless there are `count` whole records, or
 * where the table is full. */
static int64_t put_records(const table *map, cursor in, int64_t count, int64_t base, int64_t first)
{
    int64_t added = 0;
    int found;
    window ahead = {map, in, count, base, first, INT64_MAX, {{0}}};
    while ((found = look_ahead(&ahead)) > 0) {
        for (const seen *next = ahead.records; next < ahead.records + found; next++) {
            if (next->key.data == NULL || next->offset < first)
                continue;
            entry *slot = seek(map, next->digest);
            if (slot == NULL)
                return -1;
            added += is_empty(slot);
            *slot = (entry){next->digest.first, next->digest.second, next->offset};
        }
    }
    return found < 0 ? -1 : added;
}

typedef struct {
    int64_t base_offset;
    int64_t base_timestamp;
    int64_t latest; /* what is newer stays */
    int64_t keeps_tombstones;
} rules;

typedef struct {
    int64_t kept;
    int64_t newest; /* the largest timestamp of those */
    int64_t tombstones;
    int64_t size;
} outcome;

static inline int stays(const table *map, const seen *found, const rules *by)
{
    if (found->offset > by->latest)
        return 1;
    if (found->key.data == NULL || !(found->has_value || by->keeps_tombstones))
        return 0;
    const entry *slot = seek(map, found->digest);
    return slot == NULL || is_empty(slot) || found->offset >= slot->offset;
}

/* Copy the records that stay to `out`, where `in` has room. False unless there are `count` whole ones. */
static int keep_records(const table *map, cursor in, int64_t count, const rules *by, uint8_t *out, outcome *to)
{
    int found;
    window ahead = {map, in, count, by->base_offset, INT64_MIN, by->latest, {{0}}};
    *to = (outcome){0, INT64_MIN, 0, 0};
    while ((found = look_ahead(&ahead)) > 0) {
        for (const seen *next = ahead.records; next < ahead.records + found; next++) {
            if (!stays(map, next, by))
                continue;
            int64_t timestamp = add(by->base_timestamp, next->timestamp_delta);
            if (timestamp > to->newest)
                to->newest = timestamp;
            to->kept++;
            to->tombstones += !next->has_value;
            memcpy(out + to->size, next->start, (size_t)(next->end - next->start));
            to->size += next->end - next->start;
        }
    }
    return found == 0;
}

#endif
