/* The native half of the log cleaner: what _python.py does, in C. See docs/internals/compaction.md.
 *
 * There is no state between calls: the offset map is an array that the caller owns, three numbers an entry. The
 * GIL is kept, since a cleaning is a process of its own.
 */
#include "_records.h"
#include "kcompat/records/_layout.h"

static int transactional, control, horizon;

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

/* What `keep` answers, of the uncompressed records of a batch. */
static PyObject *keep_of(const table *map, PyObject *records, const Py_buffer *body, int64_t count, const rules *by)
{
    const uint8_t *start = body->buf;
    outcome found;
    uint8_t *out = PyMem_Malloc((size_t)body->len + 1);
    if (out == NULL)
        return PyErr_NoMemory();
    PyObject *result = NULL;
    if (!keep_records(map, (cursor){start, start + body->len}, count, by, out, &found))
        result = Py_NewRef(Py_None);
    else {
        PyObject *left = found.size == body->len ? Py_NewRef(records)
                                                 : PyBytes_FromStringAndSize((char *)out, (Py_ssize_t)found.size);
        if (left != NULL)
            result = Py_BuildValue("(LLLN)", (long long)found.kept, (long long)found.newest,
                                   (long long)found.tombstones, left);
    }
    PyMem_Free(out);
    return result;
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
        const rules by = {numbers[1], numbers[2], numbers[3], numbers[4]};
        result = keep_of(&map, args[1], &body, numbers[0], &by);
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
    int64_t base_offset, last_offset, base_timestamp, producer_id, count;
} batch;

/* The caller knows that there is a whole header. */
static inline void set_field(uint8_t *header, enum header_field which, int64_t value)
{
    uint8_t *to = header + header_places[which].at;
    uint64_t left = (uint64_t)value;
    for (int bytes = header_places[which].size; bytes-- > 0; left >>= 8)
        to[bytes] = (uint8_t)left;
}

/* The CRC-32C that a batch should have, by the function that was given for it; -1 with an exception set. */
static int64_t crc_of(PyObject *crc, const uint8_t *header, Py_ssize_t size)
{
    const int covered_from = header_places[ATTRIBUTES].at;
    PyObject *view = PyMemoryView_FromMemory((char *)header + covered_from, size - covered_from, PyBUF_READ);
    if (view == NULL)
        return -1;
    PyObject *made = PyObject_CallFunctionObjArgs(crc, view, NULL);
    Py_DECREF(view);
    if (made == NULL)
        return -1;
    const int64_t value = PyLong_AsLongLong(made);
    Py_DECREF(made);
    if (value < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "a CRC is not negative");
    return value < 0 ? -1 : value;
}

/* The whole and plain batch that `in` begins with; 0 if there is none, -1 with an exception set. */
static int open_batch(const cursor *in, PyObject *crc, batch *out)
{
    const uint8_t *at = in->at;
    if (in->end - at < header_size || get_field(at, MAGIC) != magic_v2)
        return 0;
    const int64_t size = get_field(at, BATCH_LENGTH) + log_overhead, base_offset = get_field(at, BASE_OFFSET);
    if (size < header_size || size > in->end - at)
        return 0;
    *out = (batch){
        .start = at,
        .size = (Py_ssize_t)size,
        .attributes = (int)get_field(at, ATTRIBUTES),
        .base_offset = base_offset,
        .last_offset = add(base_offset, get_field(at, LAST_OFFSET_DELTA)),
        .base_timestamp = get_field(at, BASE_TIMESTAMP),
        .producer_id = get_field(at, PRODUCER_ID),
        .count = get_field(at, RECORD_COUNT),
    };
    if (out->attributes & (codec_mask | transactional | control))
        return 0;
    const int64_t found = crc_of(crc, at, out->size);
    return found < 0 ? -1 : found == get_field(at, CRC);
}

static inline cursor records_of(const batch *from)
{
    return (cursor){from->start + header_size, from->start + from->size};
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

/* Make the frame around the records that stay, which are behind it at `to`. False with an exception set. */
static int seal(const batch *from, const outcome *found, uint8_t *to, PyObject *crc)
{
    const Py_ssize_t size = header_size + (Py_ssize_t)found->size;
    memcpy(to, from->start, (size_t)header_size);
    set_field(to, BATCH_LENGTH, size - log_overhead);
    if (!(from->attributes & log_append_time))
        set_field(to, MAX_TIMESTAMP, found->newest);
    set_field(to, RECORD_COUNT, found->kept);
    const int64_t sum = crc_of(crc, to, size);
    if (sum < 0)
        return 0;
    set_field(to, CRC, sum);
    return 1;
}

/* Keep what stays of one batch: 1, or 0 where more than that is to be done, -1 with an exception set. */
static int keep_batch(const table *map, const batch *from, const rules *by, int64_t upper, PyObject *crc, kept *to)
{
    outcome found;
    uint8_t *out = to->bytes + to->size;
    if (!keep_records(map, records_of(from), from->count, by, out + header_size, &found))
        return 0;
    if (found.kept == 0 && (from->count == 0 || from->producer_id >= 0 || add(from->last_offset, 1) == upper))
        return 0; /* its header may have to stay */
    if (found.tombstones && !(from->attributes & horizon))
        return 0; /* it gets a horizon */
    to->records_read += from->count;
    to->records_kept += found.kept;
    if (found.kept == 0)
        return 1;
    if (found.kept == from->count)
        memcpy(out, from->start, (size_t)header_size);
    else if (!seal(from, &found, out, crc))
        return -1;
    const Py_ssize_t size = header_size + (Py_ssize_t)found.size;
    to->size += size;
    const int64_t told[] = {size, from->last_offset, get_field(out, MAX_TIMESTAMP)};
    PyObject *note = tuple_of(told, 3);
    if (note == NULL)
        return -1;
    const int noted = PyList_Append(to->notes, note);
    Py_DECREF(note);
    return noted < 0 ? -1 : 1;
}

/* Keep what stays of the plain batches from `in` on, which moves behind them. False with an exception set. */
static int keep_batches(const table *map, cursor *in, const int64_t *numbers, PyObject *crc, kept *to)
{
    const int64_t latest = numbers[1], now = numbers[2], upper = numbers[3];
    int going = 1;
    batch found;
    while (going > 0 && in->at < in->end && (going = open_batch(in, crc, &found)) > 0) {
        const int keeps_tombstones = !(found.attributes & horizon) || now < found.base_timestamp;
        const rules by = {found.base_offset, found.base_timestamp, latest, keeps_tombstones};
        if ((going = keep_batch(map, &found, &by, upper, crc, to)) > 0)
            in->at += found.size;
    }
    return going >= 0;
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
    PyObject *result = NULL, *bytes = NULL;
    const uint8_t *start = chunk.buf;
    cursor in = {start, start + chunk.len};
    in.at += numbers[0] < 0 || numbers[0] > chunk.len ? chunk.len : numbers[0];
    kept all = {.notes = PyList_New(0)};
    if (all.notes == NULL)
        goto done;
    all.bytes = PyMem_Malloc((size_t)(in.end - in.at) + 1);
    if (all.bytes == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (!keep_batches(&map, &in, numbers, args[1], &all))
        goto done;
    bytes = PyBytes_FromStringAndSize((char *)all.bytes, all.size);
    if (bytes != NULL)
        result = Py_BuildValue("(nLLNO)", (Py_ssize_t)(in.at - start), (long long)all.records_read,
                               (long long)all.records_kept, bytes, all.notes);
done:
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

static int start(PyObject *module)
{
    int width;
    const shared_number flags[] = {
        {"TRANSACTIONAL_FLAG", &transactional}, {"CONTROL_FLAG", &control}, {"DELETE_HORIZON_FLAG", &horizon},
        {NULL, NULL},
    };
    const shared_number widths[] = {{"WIDTH", &width}, {NULL, NULL}};
    (void)module;
    if (read_layout() < 0 || read_shared(LAYOUT, NULL, flags) < 0
        || read_shared("kcompat.log.cleaner._python", NULL, widths) < 0)
        return -1;
    if (width == sizeof(entry) / sizeof(uint64_t))
        return 0;
    PyErr_Format(PyExc_ImportError, "an entry of the offset map has %d numbers", width);
    return -1;
}

PLAIN_MODULE("_native", "The native half of the log cleaner.")

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
