/* The native half of the log cleaner: what _python.py does, in C. See docs/internals/compaction.md.
 *
 * There is no state between calls: the offset map is an array that the caller owns, three numbers an entry. The
 * GIL is kept, since a cleaning is a process of its own.
 */
#include "kcompat/_module.h"
#include "_records.h"

enum { HEADER_SIZE = 61, LENGTH_AT = 8, MAGIC_AT = 16, CRC_AT = 17, ATTRIBUTES_AT = 21, DELTA_AT = 23,
    BASE_TIMESTAMP_AT = 27, MAX_TIMESTAMP_AT = 35, PRODUCER_AT = 43, COUNT_AT = 57 };
enum { LOG_OVERHEAD = 12, MAGIC = 2, CODEC = 0x07, APPEND_TIME = 0x08, TRANSACTIONAL = 0x10, CONTROL = 0x20,
    HORIZON = 0x40 };

/* -- the offset map ------------------------------------------------------------------------------------------- */

static PyObject *move(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    table from, to;
    (void)module;
    if (!read_arguments(args + 1, given - 1, NULL, 0) || !open_table(args[0], &from))
        return NULL;
    if (!open_table(args[1], &to)) {
        PyBuffer_Release(&from.buffer);
        return NULL;
    }
    for (uint64_t i = 0; i < from.slots; i++) {
        const entry *old = from.entries + i;
        entry *new = is_empty(old) ? NULL : seek(&to, (digest){old->first, old->second});
        if (new != NULL)
            *new = *old;
    }
    PyBuffer_Release(&from.buffer);
    PyBuffer_Release(&to.buffer);
    return Py_NewRef(Py_None);
}

/* -- the records of one batch -------------------------------------------------------------------------------- */

static PyObject *put(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[3]; /* count, base offset, first offset */
    table map;
    Py_buffer body;
    (void)module;
    if (!read_arguments(args + 1, given - 1, numbers, 3) || !open_table(args[0], &map))
        return NULL;
    PyObject *added = NULL;
    if (PyObject_GetBuffer(args[1], &body, PyBUF_SIMPLE) == 0) {
        const uint8_t *start = body.buf;
        cursor in = {start, start + body.len};
        added = PyLong_FromLongLong(put_records(&map, in, numbers[0], numbers[1], numbers[2]));
        PyBuffer_Release(&body);
    }
    PyBuffer_Release(&map.buffer);
    return added;
}

static PyObject *keep(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[5]; /* count, then what `rules` has */
    table map;
    Py_buffer body;
    (void)module;
    if (!read_arguments(args + 1, given - 1, numbers, 5) || !open_table(args[0], &map))
        return NULL;
    PyObject *result = NULL;
    if (PyObject_GetBuffer(args[1], &body, PyBUF_SIMPLE) == 0) {
        const uint8_t *start = body.buf;
        cursor in = {start, start + body.len};
        rules by = {numbers[1], numbers[2], numbers[3], numbers[4]};
        outcome found;
        uint8_t *out = PyMem_Malloc((size_t)body.len + 1);
        if (out == NULL)
            PyErr_NoMemory();
        else if (!keep_records(&map, in, numbers[0], &by, out, &found))
            result = Py_NewRef(Py_None);
        else
            result = Py_BuildValue("(LLLN)", (long long)found.kept, (long long)found.newest,
                (long long)found.tombstones,
                found.size == body.len ? Py_NewRef(args[1]) : PyBytes_FromStringAndSize((char *)out, found.size));
        PyMem_Free(out);
        PyBuffer_Release(&body);
    }
    PyBuffer_Release(&map.buffer);
    return result;
}

/* -- batches that are plain: no codec, no transaction, no marker; whoever meets another one stops before it -- */

typedef struct {
    const uint8_t *start;
    Py_ssize_t size;
    int attributes;
    int64_t base_offset, last_offset, base_timestamp, max_timestamp, producer_id, count;
} batch;

static inline uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | *from++;
    return value;
}

static inline void set(uint8_t *to, int bytes, uint64_t value)
{
    for (; bytes-- > 0; value >>= 8)
        to[bytes] = (uint8_t)value;
}

/* The CRC-32C of some bytes, by the function that was given for it; -1 with an exception set. */
static int64_t crc_of(PyObject *crc, const uint8_t *from, Py_ssize_t size)
{
    PyObject *view = PyMemoryView_FromMemory((char *)from, size, PyBUF_READ);
    PyObject *made = view == NULL ? NULL : PyObject_CallFunctionObjArgs(crc, view, NULL);
    int64_t value = made == NULL ? -1 : PyLong_AsLongLong(made);
    Py_XDECREF(made);
    Py_XDECREF(view);
    return value;
}

/* The whole and plain batch that `in` begins with; 0 if there is none, -1 with an exception set. */
static int open_batch(const cursor *in, PyObject *crc, batch *out)
{
    const uint8_t *at = in->at;
    if (in->end - at < HEADER_SIZE || at[MAGIC_AT] != MAGIC)
        return 0;
    int64_t size = (int64_t)(int32_t)get(at + LENGTH_AT, 4) + LOG_OVERHEAD;
    if (size < HEADER_SIZE || size > in->end - at)
        return 0;
    *out = (batch){
        .start = at,
        .size = (Py_ssize_t)size,
        .attributes = (int)get(at + ATTRIBUTES_AT, 2),
        .base_offset = (int64_t)get(at, 8),
        .last_offset = add((int64_t)get(at, 8), (int32_t)get(at + DELTA_AT, 4)),
        .base_timestamp = (int64_t)get(at + BASE_TIMESTAMP_AT, 8),
        .max_timestamp = (int64_t)get(at + MAX_TIMESTAMP_AT, 8),
        .producer_id = (int64_t)get(at + PRODUCER_AT, 8),
        .count = (int32_t)get(at + COUNT_AT, 4),
    };
    if (out->attributes & (CODEC | TRANSACTIONAL | CONTROL))
        return 0;
    int64_t found = crc_of(crc, at + ATTRIBUTES_AT, out->size - ATTRIBUTES_AT);
    return found < 0 ? -1 : (uint64_t)found == get(at + CRC_AT, 4);
}

static inline cursor records_of(const batch *from)
{
    return (cursor){from->start + HEADER_SIZE, from->start + from->size};
}

static PyObject *put_plain(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[3]; /* position, room for so many new keys, first offset */
    table map;
    Py_buffer chunk;
    (void)module;
    if (!read_arguments(args + 2, given - 2, numbers, 3) || !open_table(args[0], &map))
        return NULL;
    if (PyObject_GetBuffer(args[2], &chunk, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&map.buffer);
        return NULL;
    }
    const uint8_t *start = chunk.buf;
    int64_t added = 0, latest = -1, first = numbers[2];
    int opened = 0;
    batch found;
    cursor in = {start, start + chunk.len};
    in.at += numbers[0] < 0 || numbers[0] > chunk.len ? chunk.len : numbers[0];
    while (in.at < in.end && (opened = open_batch(&in, args[1], &found)) > 0) {
        if (found.last_offset >= first) {
            if (found.count > numbers[1] - added)
                break;
            int64_t more = put_records(&map, records_of(&found), found.count, found.base_offset, first);
            if (more < 0)
                break;
            added += more;
            latest = found.last_offset;
        }
        in.at += found.size;
    }
    int64_t results[] = {in.at - start, added, latest};
    PyBuffer_Release(&chunk);
    PyBuffer_Release(&map.buffer);
    return opened < 0 ? NULL : tuple_of(results, 3);
}

/* What was kept of a chunk, and what the indexes are told of it. */
typedef struct {
    uint8_t *bytes;
    Py_ssize_t size;
    PyObject *notes; /* size, last offset and largest timestamp of each batch */
    int64_t records_read, records_kept;
} kept;

/* Make the frame around the records that stay at `to` + HEADER_SIZE. False with an exception set. */
static int seal(const batch *from, const outcome *found, uint8_t *to, PyObject *crc)
{
    Py_ssize_t size = HEADER_SIZE + found->size;
    memcpy(to, from->start, HEADER_SIZE);
    set(to + LENGTH_AT, 4, (uint64_t)size - LOG_OVERHEAD);
    if (!(from->attributes & APPEND_TIME))
        set(to + MAX_TIMESTAMP_AT, 8, (uint64_t)found->newest);
    set(to + COUNT_AT, 4, (uint64_t)found->kept);
    int64_t sum = crc_of(crc, to + ATTRIBUTES_AT, size - ATTRIBUTES_AT);
    set(to + CRC_AT, 4, (uint64_t)sum);
    return sum >= 0;
}

/* Keep what stays of one batch: 1, or 0 where more than that is to be done, -1 with an exception set. */
static int keep_batch(const table *map, const batch *from, const rules *by, int64_t upper, PyObject *crc, kept *to)
{
    outcome found;
    uint8_t *out = to->bytes + to->size;
    Py_ssize_t size = HEADER_SIZE;
    if (!keep_records(map, records_of(from), from->count, by, out + HEADER_SIZE, &found))
        return 0;
    if (found.kept == 0 && (from->count == 0 || from->producer_id >= 0 || add(from->last_offset, 1) == upper))
        return 0; /* its header may have to stay */
    if (found.tombstones && !(from->attributes & HORIZON))
        return 0; /* it gets a horizon */
    to->records_read += from->count;
    to->records_kept += found.kept;
    if (found.kept == 0)
        return 1;
    if (found.kept == from->count)
        memcpy(out, from->start, HEADER_SIZE);
    else if (!seal(from, &found, out, crc))
        return -1;
    size += (Py_ssize_t)found.size;
    to->size += size;
    const int64_t told[] = {size, from->last_offset, (int64_t)get(out + MAX_TIMESTAMP_AT, 8)};
    PyObject *note = tuple_of(told, 3);
    int failed = note == NULL || PyList_Append(to->notes, note) < 0;
    Py_XDECREF(note);
    return failed ? -1 : 1;
}

static PyObject *keep_plain(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[4]; /* position, latest, now, upper offset */
    table map;
    Py_buffer chunk;
    (void)module;
    if (!read_arguments(args + 2, given - 2, numbers, 4) || !open_table(args[0], &map))
        return NULL;
    if (PyObject_GetBuffer(args[2], &chunk, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&map.buffer);
        return NULL;
    }
    PyObject *result = NULL;
    const uint8_t *start = chunk.buf;
    int going = 1;
    batch found;
    cursor in = {start, start + chunk.len};
    in.at += numbers[0] < 0 || numbers[0] > chunk.len ? chunk.len : numbers[0];
    kept all = {PyMem_Malloc((size_t)(in.end - in.at) + 1), 0, PyList_New(0), 0, 0};
    if (all.bytes == NULL || all.notes == NULL)
        going = -1;
    while (going > 0 && in.at < in.end && (going = open_batch(&in, args[1], &found)) > 0) {
        int keeps_tombstones = !(found.attributes & HORIZON) || numbers[2] < found.base_timestamp;
        rules by = {found.base_offset, found.base_timestamp, numbers[1], keeps_tombstones};
        if ((going = keep_batch(&map, &found, &by, numbers[3], args[1], &all)) > 0)
            in.at += found.size;
    }
    if (going >= 0)
        result = Py_BuildValue("(nLLNO)", (Py_ssize_t)(in.at - start), (long long)all.records_read,
            (long long)all.records_kept, PyBytes_FromStringAndSize((char *)all.bytes, all.size), all.notes);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    Py_XDECREF(all.notes);
    PyMem_Free(all.bytes);
    PyBuffer_Release(&chunk);
    PyBuffer_Release(&map.buffer);
    return result;
}

/* -- other base timestamps ----------------------------------------------------------------------------------- */

static inline uint8_t *write_varlong(uint8_t *to, int64_t value)
{
    uint64_t raw = (uint64_t)value << 1 ^ (value < 0 ? ~(uint64_t)0 : 0);
    for (; raw > 0x7F; raw >>= 7)
        *to++ = (uint8_t)(raw | 0x80);
    *to++ = (uint8_t)raw;
    return to;
}

/* The records with `shift` added to each timestamp delta, at `out`; their end, NULL unless there are `count`
 * whole ones. */
static uint8_t *shift_records(cursor in, int64_t count, int64_t shift, uint8_t *out)
{
    record found;
    cursor inside;
    for (; in.at < in.end; count--) {
        uint8_t delta[10];
        int64_t old = 0;
        cursor ahead = in;
        if (count == 0 || open_record(&ahead, &inside) || !next_record(&in, &found))
            return NULL;
        inside.at++;
        read_varlong(&inside, &old);
        size_t width = (size_t)(write_varlong(delta, add(old, shift)) - delta);
        size_t rest = (size_t)(inside.end - inside.at);
        out = write_varlong(out, (int64_t)(1 + width + rest));
        *out++ = 0;
        memcpy(out, delta, width);
        memcpy(out + width, inside.at, rest);
        out += width + rest;
    }
    return count == 0 ? out : NULL;
}

static PyObject *rebase(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[2]; /* count, shift */
    Py_buffer body;
    (void)module;
    if (!read_arguments(args, given, numbers, 2) || PyObject_GetBuffer(args[0], &body, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *result = NULL;
    const uint8_t *start = body.buf;
    /* A record has 7 bytes or more, and becomes 13 bytes longer at most. */
    uint8_t *out = PyMem_Malloc(3 * (size_t)body.len + 1), *end;
    if (out == NULL)
        PyErr_NoMemory();
    else if ((end = shift_records((cursor){start, start + body.len}, numbers[0], numbers[1], out)) == NULL)
        result = Py_NewRef(Py_None);
    else
        result = PyBytes_FromStringAndSize((char *)out, end - out);
    PyMem_Free(out);
    PyBuffer_Release(&body);
    return result;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, PyDoc_STR("As _python." #name ".")}

static PyMethodDef methods[] = {
    METHOD(move), METHOD(put), METHOD(keep), METHOD(put_plain), METHOD(keep_plain), METHOD(rebase),
    {NULL, NULL, 0, NULL},
};

PLAIN_MODULE("_native", "The native half of the log cleaner.")

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
