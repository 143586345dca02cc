/* The native scanner of records v2: what _python.py does, in C. See docs/internals/records.md.
 *
 * All functions take any buffer of whole, uncompressed records and keep the GIL: a call sees one batch at most.
 * There is no state between calls.
 */
#include "kcompat/_module.h"
#include "_record.h"
#include <stdlib.h>

typedef struct {
    int64_t count, end, fault, newest, oldest, keyless;
} summary;

/* Check the records of `body` up to the first fault. */
static summary scan_records(const uint8_t *body, Py_ssize_t size, int64_t index, int64_t base_timestamp)
{
    summary sum = {.newest = -1, .oldest = INT64_MAX};
    cursor in = {body, body + size}, inside;
    enum fault fault = WHOLE;
    record found;
    while (in.at < in.end) {
        if ((fault = open_record(&in, &inside)) || (fault = read_record(&inside, &found))
            || (fault = skip_headers(&inside, found.headers)))
            break;
        if (found.offset_delta != index + sum.count) {
            fault = OFFSET_DELTA;
            break;
        }
        int64_t timestamp = add(base_timestamp, found.timestamp_delta);
        if (timestamp > sum.newest)
            sum.newest = timestamp;
        if (timestamp < sum.oldest && timestamp != -1)
            sum.oldest = timestamp;
        sum.keyless += found.key.data == NULL;
        sum.count++;
        sum.end = in.at - body;
    }
    sum.fault = fault;
    return sum;
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
enum { HEADER_SIZE = 61, BEFORE_LENGTH_COUNTS = 12, CODEC_OR_CONTROL = 0x27, MAGIC_V2 = 2 };

static void read_batch_header(const uint8_t *at, int64_t *fields)
{
    for (int i = 0; i < FIELDS; i++) {
        int size = abs(field_sizes[i]);
        uint64_t raw = 0;
        for (int j = 0; j < size; j++)
            raw = raw << 8 | *at++;
        int spare = field_sizes[i] < 0 ? 0 : 64 - 8 * size;
        fields[i] = (int64_t)(raw << spare) >> spare;
    }
}

/* Whether nothing in the header of a produced batch of `size` bytes needs a closer look. */
static int is_plain(const int64_t *header, Py_ssize_t size)
{
    return header[MAGIC] == MAGIC_V2 && header[LENGTH_BEHIND] == size - BEFORE_LENGTH_COUNTS
        && header[BASE_OFFSET] == 0 && !(header[ATTRIBUTES] & CODEC_OR_CONTROL) && header[RECORD_COUNT] > 0
        && header[RECORD_COUNT] == header[LAST_OFFSET_DELTA] + 1
        && (header[PRODUCER_ID] < 0 || header[BASE_SEQUENCE] >= 0);
}

static PyObject *inspect(PyObject *module, PyObject *batch)
{
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(batch, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    int64_t header[FIELDS];
    summary sum = {0};
    int good = 0;
    if (view.len >= HEADER_SIZE) {
        const uint8_t *start = view.buf;
        read_batch_header(start, header);
        if (is_plain(header, view.len)) {
            sum = scan_records(start + HEADER_SIZE, view.len - HEADER_SIZE, 0, header[BASE_TIMESTAMP]);
            good = sum.fault == WHOLE && sum.count == header[RECORD_COUNT];
        }
    }
    PyBuffer_Release(&view);
    if (!good)
        return Py_NewRef(Py_None);
    PyObject *fields = tuple_of(header, FIELDS);
    if (fields == NULL)
        return NULL;
    return Py_BuildValue("(NLLL)", fields, (long long)sum.newest, (long long)sum.oldest, (long long)sum.keyless);
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
    {"inspect", inspect, METH_O, PyDoc_STR("As _python.inspect.")},
    {"scan", (PyCFunction)(void (*)(void))scan, METH_FASTCALL, PyDoc_STR("As _python.scan.")},
    {"read", (PyCFunction)(void (*)(void))read_records, METH_FASTCALL, PyDoc_STR("As _python.read.")},
    {NULL, NULL, 0, NULL},
};

PLAIN_MODULE("_native", "The native scanner of records v2.")

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
