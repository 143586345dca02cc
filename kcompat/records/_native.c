/* The native scanner of records v2: what _python.py does, in C. See docs/internals/records.md.
 *
 * All functions take any buffer, of a batch or of whole, uncompressed records, and keep the GIL: a call sees one
 * batch at most. There is no state between calls.
 */
#include "kcompat/_module.h"
#include "_crc.h"
#include "_record.h"
#include <stdlib.h>

typedef struct {
    int64_t count, end, fault, newest, oldest, keyless;
} summary;

/* A varint of at most three bytes, before its zigzag; 0 where it is longer. The caller knows of three bytes.
 *
 * The compiler is told that each byte is the last one so that it puts the rest elsewhere.
 */
static inline int read_short(const uint8_t **at, uint32_t *raw)
{
    const uint8_t *from = *at;
    uint32_t number = from[0];
    if (__builtin_expect(number < 0x80, 1)) {
        *raw = number;
        *at = from + 1;
        return 1;
    }
    number += (from[1] - 1u) << 7; /* without the mark of the byte before */
    if (__builtin_expect(from[1] < 0x80, 1)) {
        *raw = number;
        *at = from + 2;
        return 1;
    }
    *raw = number + ((from[2] - 1u) << 14);
    *at = from + 3;
    return from[2] < 0x80;
}

enum { SHORT = 3, UP_TO_VALUE = 5 * SHORT + 1 };

typedef struct {
    int64_t timestamp_delta;
    int keyless;
} sight;

/* Where a good record of short varints ends, as nearly all are; NULL for any other. The numbers are before their
 * zigzag, so odd ones are negative; `offset_delta` is the one right one.
 */
static inline const uint8_t *check_usual(const uint8_t *at, const uint8_t *end, uint64_t offset_delta, sight *out)
{
    uint32_t length, time, offset, key, value;
    if (end - at < UP_TO_VALUE || !read_short(&at, &length)
        || (length >> 1 | length << 31) > (size_t)(end - at)) /* a negative one becomes huge */
        return NULL;
    cursor in = {at + 1, at + (length >> 1)}; /* behind the attributes */
    if (!read_short(&in.at, &time) || !read_short(&in.at, &offset) || offset != offset_delta
        || !read_short(&in.at, &key))
        return NULL;
    if (!(key & 1)) {
        if ((Py_ssize_t)(key >> 1) + SHORT > in.end - in.at)
            return NULL;
        in.at += key >> 1;
    }
    if (!read_short(&in.at, &value))
        return NULL;
    const Py_ssize_t size = value & 1 ? 0 : value >> 1, left = in.end - in.at;
    out->timestamp_delta = (int32_t)(time >> 1 ^ (0u - (time & 1)));
    out->keyless = key & 1;
    if (size + 1 == left && in.end[-1] == 0)
        return in.end;
    if (size >= left)
        return NULL;
    in.at += size;
    const int headers = *in.at++;
    if (headers & 0x81 || skip_headers(&in, headers / 2)) /* 0x81: more bytes, or negative */
        return NULL;
    return in.end;
}

/* Any record; `in` moves behind it if its length is right. Never inlined, so that the loop over the usual ones
 * keeps its cursor in registers.
 */
static __attribute__((noinline)) enum fault check_record(cursor *in, int64_t offset_delta, sight *out)
{
    cursor inside;
    enum fault fault;
    record found;
    if ((fault = open_record(in, &inside)) || (fault = read_record(&inside, &found))
        || (fault = skip_headers(&inside, found.headers)))
        return fault;
    out->timestamp_delta = found.timestamp_delta;
    out->keyless = found.key.data == NULL;
    return found.offset_delta == offset_delta ? WHOLE : OFFSET_DELTA;
}

/* Check the records of `body` up to the first fault. */
static summary scan_records(const uint8_t *body, Py_ssize_t size, int64_t index, int64_t base_timestamp)
{
    const uint8_t *at = body, *end = body + size;
    int64_t next = index, newest = -1, oldest = INT64_MAX, keyless = 0;
    enum fault fault = WHOLE;
    while (at < end) {
        sight seen;
        const uint8_t *behind = check_usual(at, end, (uint64_t)next << 1 ^ (uint64_t)(next >> 63), &seen);
        if (behind == NULL) {
            cursor in = {at, end};
            if ((fault = check_record(&in, next, &seen)))
                break;
            behind = in.at;
        }
        at = behind;
        next++;
        int64_t timestamp = add(base_timestamp, seen.timestamp_delta);
        if (timestamp > newest)
            newest = timestamp;
        if (timestamp < oldest && timestamp != -1)
            oldest = timestamp;
        keyless += seen.keyless;
    }
    return (summary){next - index, at - body, fault, newest, oldest, keyless};
}

static PyObject *scan(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[2]; /* first index, base timestamp */
    Py_buffer body;
    (void)module;
    if (!read_arguments(args, given, numbers, 2) || PyObject_GetBuffer(args[0], &body, PyBUF_SIMPLE) < 0)
        return NULL;
    summary sum = scan_records(body.buf, body.len, numbers[0], numbers[1]);
    PyBuffer_Release(&body);
    const int64_t results[] = {sum.count, sum.end, sum.fault, sum.newest, sum.oldest, sum.keyless};
    return tuple_of(results, 6);
}

/* The fields of a batch header: sizes in bytes, negative ones unsigned. They fill 61 bytes. */
enum { BASE_OFFSET, LENGTH_BEHIND, LEADER_EPOCH, MAGIC, CRC, ATTRIBUTES, LAST_OFFSET_DELTA, BASE_TIMESTAMP,
       MAX_TIMESTAMP, PRODUCER_ID, PRODUCER_EPOCH, BASE_SEQUENCE, RECORD_COUNT, FIELDS };
static const int8_t field_sizes[FIELDS] = {8, 4, 4, 1, -4, 2, 4, 8, 8, 8, 2, 4, 4};
enum { HEADER_SIZE = 61, SMALLEST_RECORD = 7, BEFORE_LENGTH_COUNTS = 12, CRC_COVERS_FROM = 21, MAGIC_V2 = 2,
       CODEC_TIME_TYPE_OR_CONTROL = 0x2F };

/* Looks up to four bytes beyond the header. */
static void read_batch_header(const uint8_t *at, int64_t *fields)
{
    for (int i = 0; i < FIELDS; i++) {
        int size = abs(field_sizes[i]), spare = 64 - 8 * size;
        uint64_t raw = (uint64_t)get_long(at);
        fields[i] = field_sizes[i] < 0 ? (int64_t)(raw >> spare) : (int64_t)raw >> spare;
        at += size;
    }
}

/* Whether nothing in the header of a produced batch of `size` bytes needs a closer look. */
static int is_plain(const int64_t *header, Py_ssize_t size)
{
    return header[MAGIC] == MAGIC_V2 && header[LENGTH_BEHIND] == size - BEFORE_LENGTH_COUNTS
        && header[BASE_OFFSET] == 0 && !(header[ATTRIBUTES] & CODEC_TIME_TYPE_OR_CONTROL)
        && header[RECORD_COUNT] > 0 && header[RECORD_COUNT] == header[LAST_OFFSET_DELTA] + 1
        && (header[PRODUCER_ID] < 0 || header[BASE_SEQUENCE] >= 0);
}

/* Whether `later` is more than `most` (not negative) after `earlier`. */
static int is_beyond(int64_t later, int64_t earlier, int64_t most)
{
    return later > earlier && (uint64_t)later - (uint64_t)earlier > (uint64_t)most;
}

/* What a topic demands of a batch, in the order of arguments. */
enum { MOST_BYTES, NOW_MS, BEFORE_MS, AFTER_MS, BOUNDS };

/* Whether a produced batch is plain and all about it good; its header, its null keys. */
static int is_good(const uint8_t *batch, Py_ssize_t size, const int64_t *bounds, int64_t *header, int64_t *keyless)
{
    read_batch_header(batch, header);
    if (!is_plain(header, size))
        return 0;
    if (crc32c_is_fast() && crc32c_of(batch + CRC_COVERS_FROM, batch + size) != header[CRC])
        return 0;
    const summary sum = scan_records(batch + HEADER_SIZE, size - HEADER_SIZE, 0, header[BASE_TIMESTAMP]);
    *keyless = sum.keyless;
    return sum.fault == WHOLE && sum.count == header[RECORD_COUNT] && sum.newest == header[MAX_TIMESTAMP]
        && !is_beyond(bounds[NOW_MS], sum.oldest, bounds[BEFORE_MS])
        && !is_beyond(sum.newest, bounds[NOW_MS], bounds[AFTER_MS]);
}

static PyObject *inspect(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t bounds[BOUNDS], header[FIELDS], keyless = 0;
    Py_buffer view;
    (void)module;
    if (!read_arguments(args, given, bounds, BOUNDS) || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    const int good = view.len >= HEADER_SIZE + SMALLEST_RECORD && view.len <= bounds[MOST_BYTES]
        && is_good(view.buf, view.len, bounds, header, &keyless);
    PyBuffer_Release(&view);
    if (!good)
        return Py_NewRef(Py_None);
    PyObject *fields = tuple_of(header, FIELDS);
    return fields == NULL ? NULL : Py_BuildValue("(NL)", fields, (long long)keyless);
}

static PyObject *checks_crc(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return PyBool_FromLong(crc32c_is_fast());
}

static PyObject *as_bytes(const field *from)
{
    if (from->data == NULL)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize(from->data, from->size);
}

/* A tuple of (name, value) pairs; NULL with a fault, or with an exception set. */
static PyObject *build_headers(cursor *in, int32_t count, enum fault *fault)
{
    PyObject *pairs = PyList_New(0), *all = NULL;
    field name, value;
    if (pairs == NULL)
        return NULL;
    while (count-- > 0) {
        if ((*fault = read_header(in, &name, &value)))
            goto done;
        PyObject *text = PyUnicode_DecodeUTF8(name.data, name.size, "replace");
        PyObject *content = as_bytes(&value);
        PyObject *pair = text && content ? PyTuple_Pack(2, text, content) : NULL;
        Py_XDECREF(text);
        Py_XDECREF(content);
        int failed = pair == NULL || PyList_Append(pairs, pair) < 0;
        Py_XDECREF(pair);
        if (failed)
            goto done;
    }
    if (in->at != in->end)
        *fault = LEFT_OVER;
    else
        all = PyList_AsTuple(pairs);
done:
    Py_DECREF(pairs);
    return all;
}

/* (offset, timestamp, key, value, headers); NULL with a fault, or with an exception set. */
static PyObject *build_record(cursor *in, const int64_t *bases, enum fault *fault)
{
    record found;
    cursor inside;
    if ((*fault = open_record(in, &inside)) || (*fault = read_record(&inside, &found)))
        return NULL;
    PyObject *headers;
    if (found.headers)
        headers = build_headers(&inside, found.headers, fault);
    else if ((*fault = inside.at == inside.end ? WHOLE : LEFT_OVER))
        return NULL;
    else
        headers = PyTuple_New(0);
    if (headers == NULL)
        return NULL;
    PyObject *made = PyTuple_New(5);
    if (made != NULL) {
        PyObject *parts[] = {
            PyLong_FromLongLong(add(bases[0], found.offset_delta)),
            PyLong_FromLongLong(add(bases[1], found.timestamp_delta)),
            as_bytes(&found.key),
            as_bytes(&found.value),
            Py_NewRef(headers),
        };
        int failed = 0;
        for (int i = 0; i < 5; i++) {
            failed |= parts[i] == NULL;
            PyTuple_SetItem(made, i, parts[i]); /* takes the reference; a NULL is allowed */
        }
        if (failed)
            Py_CLEAR(made);
    }
    Py_DECREF(headers);
    return made;
}

static PyObject *read_records(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[4]; /* position, limit, base offset, base timestamp */
    Py_buffer body;
    (void)module;
    if (!read_arguments(args, given, numbers, 4) || PyObject_GetBuffer(args[0], &body, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *records = NULL, *made = NULL;
    enum fault fault = WHOLE;
    int64_t position = numbers[0];
    if (position < 0 || position > body.len) {
        PyErr_SetString(PyExc_ValueError, "a position outside the records");
        goto done;
    }
    const uint8_t *start = body.buf;
    cursor in = {start + position, start + body.len};
    records = PyList_New(0);
    for (int64_t left = numbers[1]; records != NULL && left > 0 && in.at < in.end; left--) {
        made = build_record(&in, numbers + 2, &fault);
        if (fault)
            break;
        if (made == NULL || PyList_Append(records, made) < 0)
            Py_CLEAR(records);
        else
            position = in.at - start;
        Py_CLEAR(made);
    }
done:
    PyBuffer_Release(&body);
    return records == NULL ? NULL : Py_BuildValue("(NLi)", records, (long long)position, (int)fault);
}

static PyMethodDef methods[] = {
    {"checks_crc", checks_crc, METH_NOARGS, PyDoc_STR("As _python.checks_crc.")},
    {"inspect", (PyCFunction)(void (*)(void))inspect, METH_FASTCALL, PyDoc_STR("As _python.inspect.")},
    {"scan", (PyCFunction)(void (*)(void))scan, METH_FASTCALL, PyDoc_STR("As _python.scan.")},
    {"read", (PyCFunction)(void (*)(void))read_records, METH_FASTCALL, PyDoc_STR("As _python.read.")},
    {NULL, NULL, 0, NULL},
};

PLAIN_MODULE("_native", "The native scanner of records v2.")

PyMODINIT_FUNC PyInit__native(void)
{
    prepare_crc32c();
    return PyModuleDef_Init(&definition);
}
