/* The native scanner of records v2: what _python.py does, in C. See docs/internals/records.md.
 *
 * All functions take any buffer, of a batch or of whole, uncompressed records, and keep the GIL: a call sees one
 * batch at most. There is no state between calls.
 */
#include "_crc.h"
#include "_layout.h"
#include <stdlib.h>

typedef struct {
    int64_t count, end, newest, oldest, keyless;
    enum fault fault;
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
    return (summary){next - index, at - body, newest, oldest, keyless, fault};
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
    const int64_t results[] = {sum.count, sum.end, *fault_number(sum.fault), sum.newest, sum.oldest, sum.keyless};
    return tuple_of(results, 6);
}

static int control, smallest_record;

/* Whether nothing in the header of a produced batch of `size` bytes needs a closer look. */
static int is_plain(const int64_t *header, Py_ssize_t size)
{
    return header[MAGIC] == magic_v2 && header[BATCH_LENGTH] == size - log_overhead && header[BASE_OFFSET] == 0
        && !(header[ATTRIBUTES] & (codec_mask | log_append_time | control)) && header[RECORD_COUNT] > 0
        && header[RECORD_COUNT] == header[LAST_OFFSET_DELTA] + 1
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
    for (int i = 0; i < FIELDS; i++)
        header[i] = get_field(batch, (enum header_field)i);
    if (!is_plain(header, size))
        return 0;
    if (crc32c_is_fast() && crc32c_of(batch + header_places[ATTRIBUTES].at, batch + size) != header[CRC])
        return 0;
    const summary sum = scan_records(batch + header_size, size - header_size, 0, header[BASE_TIMESTAMP]);
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
    const int good = view.len >= header_size + smallest_record && view.len <= bounds[MOST_BYTES]
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

static PyObject *crc32c(PyObject *module, PyObject *data)
{
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *at = view.buf;
    const uint32_t found = crc32c_of(at, at + view.len);
    PyBuffer_Release(&view);
    return PyLong_FromUnsignedLong(found);
}

static PyObject *as_bytes(const field *from)
{
    if (from->data == NULL)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize(from->data, from->size);
}

static PyObject *build_header(const field *name, const field *value)
{
    PyObject *text = PyUnicode_DecodeUTF8(name->data, name->size, "replace");
    if (text == NULL)
        return NULL;
    PyObject *content = as_bytes(value);
    PyObject *pair = content == NULL ? NULL : PyTuple_Pack(2, text, content);
    Py_DECREF(text);
    Py_XDECREF(content);
    return pair;
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
        PyObject *pair = build_header(&name, &value);
        if (pair == NULL)
            goto done;
        const int appended = PyList_Append(pairs, pair);
        Py_DECREF(pair);
        if (appended < 0)
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
    const int done = made != NULL && put_item(made, 0, PyLong_FromLongLong(add(bases[0], found.offset_delta)))
        && put_item(made, 1, PyLong_FromLongLong(add(bases[1], found.timestamp_delta)))
        && put_item(made, 2, as_bytes(&found.key)) && put_item(made, 3, as_bytes(&found.value))
        && put_item(made, 4, Py_NewRef(headers));
    Py_DECREF(headers);
    if (!done)
        Py_CLEAR(made);
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
    return records == NULL ? NULL : Py_BuildValue("(NLi)", records, (long long)position, *fault_number(fault));
}

static PyMethodDef methods[] = {
    {"checks_crc", checks_crc, METH_NOARGS, PyDoc_STR("As _python.checks_crc.")},
    {"crc32c", crc32c, METH_O, PyDoc_STR("As the function of the library crc32c, from no CRC so far.")},
    {"inspect", (PyCFunction)(void (*)(void))inspect, METH_FASTCALL, PyDoc_STR("As _python.inspect.")},
    {"scan", (PyCFunction)(void (*)(void))scan, METH_FASTCALL, PyDoc_STR("As _python.scan.")},
    {"read", (PyCFunction)(void (*)(void))read_records, METH_FASTCALL, PyDoc_STR("As _python.read.")},
    {NULL, NULL, 0, NULL},
};

static int start(PyObject *module)
{
    const shared_number numbers[] = {{"CONTROL_FLAG", &control}, {"SMALLEST_RECORD", &smallest_record}, {NULL, NULL}};
    (void)module;
    prepare_crc32c();
    return read_layout() < 0 || read_shared(LAYOUT, NULL, numbers) < 0 || read_faults() < 0 ? -1 : 0;
}

PLAIN_MODULE("_native", "The native scanner of records v2.")

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
