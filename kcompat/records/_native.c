/* The native scanner of records v2: what _python.py does, in C. See docs/internals/records.md.
 *
 * Both functions take any buffer of whole, uncompressed records and keep the GIL: a call sees one batch at most.
 * Every byte is read between `at` and `end` of the buffer, each length is compared with what is left before it
 * is used, and nothing is allocated by a length that was not compared. Fields are read once into locals, so even
 * bytes that change meanwhile cannot lead outside. There is no state between calls.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* _python.Fault, value by value. */
enum fault { WHOLE = 0, CUT, LENGTH, VARINT, FIELD, HEADER_COUNT, HEADER_KEY, LEFT_OVER, OFFSET_DELTA };

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} cursor;

typedef struct {
    const char *data;  /* NULL where the field is null */
    Py_ssize_t size;
} field;

typedef struct {
    int64_t timestamp_delta;
    int32_t offset_delta;
    field key;
    field value;
    int32_t headers;
} record;

/* A zigzag varint of at most `longest` bytes; bits beyond those of the type are dropped, as on a Kafka broker. */
static int read_long_varint(cursor *in, int longest, uint64_t *out)
{
    uint64_t raw = 0;
    for (int i = 0; i < longest && in->at < in->end; i++) {
        uint8_t byte = *in->at++;
        raw |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            *out = raw;
            return 1;
        }
    }
    return 0;
}

static inline int read_varint(cursor *in, int32_t *out)
{
    uint64_t raw;
    if (in->at < in->end && *in->at < 0x80)
        raw = *in->at++;
    else if (!read_long_varint(in, 5, &raw))
        return 0;
    uint32_t word = (uint32_t)raw;
    *out = (int32_t)((word >> 1) ^ (0u - (word & 1)));
    return 1;
}

static inline int read_varlong(cursor *in, int64_t *out)
{
    uint64_t raw;
    if (in->at < in->end && *in->at < 0x80)
        raw = *in->at++;
    else if (!read_long_varint(in, 10, &raw))
        return 0;
    *out = (int64_t)((raw >> 1) ^ (0u - (raw & 1)));
    return 1;
}

static inline enum fault read_field(cursor *in, field *out)
{
    int32_t size;
    if (!read_varint(in, &size))
        return VARINT;
    out->data = NULL;
    out->size = 0;
    if (size < 0)
        return WHOLE;
    if (size > in->end - in->at)
        return FIELD;
    out->data = (const char *)in->at;
    out->size = size;
    in->at += size;
    return WHOLE;
}

/* The length that a record begins with; `body` becomes what it stands for, `in` moves behind the record. */
static inline enum fault open_record(cursor *in, cursor *body)
{
    cursor ahead = *in;
    int32_t length;
    if (!read_varint(&ahead, &length))
        return ahead.at - in->at < 5 ? CUT : VARINT;
    if (length < 0)
        return LENGTH;
    if (length > ahead.end - ahead.at)
        return CUT;
    body->at = ahead.at;
    body->end = in->at = ahead.at + length;
    return WHOLE;
}

/* Everything before the headers. */
static inline enum fault read_record(cursor *in, record *out)
{
    enum fault fault;
    if (in->at == in->end)
        return FIELD;
    in->at++; /* attributes, of which none is in use */
    if (!read_varlong(in, &out->timestamp_delta) || !read_varint(in, &out->offset_delta))
        return VARINT;
    if ((fault = read_field(in, &out->key)) || (fault = read_field(in, &out->value)))
        return fault;
    if (!read_varint(in, &out->headers))
        return VARINT;
    return out->headers < 0 || out->headers > in->end - in->at ? HEADER_COUNT : WHOLE;
}

static inline enum fault read_header(cursor *in, field *name, field *value)
{
    enum fault fault = read_field(in, name);
    if (fault)
        return fault;
    return name->data == NULL ? HEADER_KEY : read_field(in, value);
}

static enum fault skip_headers(cursor *in, int32_t count)
{
    enum fault fault = WHOLE;
    field name, value;
    while (count-- > 0 && !fault)
        fault = read_header(in, &name, &value);
    return fault ? fault : in->at == in->end ? WHOLE : LEFT_OVER;
}

static int64_t add(int64_t base, int64_t delta)
{
    return (int64_t)((uint64_t)base + (uint64_t)delta); /* wraps, as in Java */
}

static int read_arguments(PyObject *const *args, Py_ssize_t given, int64_t *out, Py_ssize_t wanted)
{
    if (given != wanted + 1) {
        PyErr_Format(PyExc_TypeError, "%zd arguments where %zd are expected", given, wanted + 1);
        return 0;
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        out[i] = PyLong_AsLongLong(args[i + 1]);
        if (out[i] == -1 && PyErr_Occurred())
            return 0;
    }
    return 1;
}

static PyObject *tuple_of(const int64_t *numbers, Py_ssize_t count)
{
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL || PyTuple_SetItem(made, i, number) < 0)
            Py_CLEAR(made);
    }
    return made;
}

static PyObject *scan(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[2];
    Py_buffer body;
    (void)module;
    if (!read_arguments(args, given, numbers, 2) || PyObject_GetBuffer(args[0], &body, PyBUF_SIMPLE) < 0)
        return NULL;
    int64_t index = numbers[0], base_timestamp = numbers[1];
    int64_t newest = -1, oldest = INT64_MAX;
    Py_ssize_t count = 0, keyless = 0, end = 0;
    const uint8_t *start = body.buf;
    cursor in = {start, start + body.len}, inside;
    enum fault fault = WHOLE;
    record found;
    while (in.at < in.end) {
        if ((fault = open_record(&in, &inside)) || (fault = read_record(&inside, &found))
            || (fault = skip_headers(&inside, found.headers)))
            break;
        if (found.offset_delta != index + count) {
            fault = OFFSET_DELTA;
            break;
        }
        int64_t timestamp = add(base_timestamp, found.timestamp_delta);
        if (timestamp > newest)
            newest = timestamp;
        if (timestamp < oldest && timestamp != -1)
            oldest = timestamp;
        keyless += found.key.data == NULL;
        count++;
        end = in.at - start;
    }
    PyBuffer_Release(&body);
    const int64_t results[] = {count, end, fault, newest, oldest, keyless};
    return tuple_of(results, 6);
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
    {"scan", (PyCFunction)(void (*)(void))scan, METH_FASTCALL, PyDoc_STR("As _python.scan.")},
    {"read", (PyCFunction)(void (*)(void))read_records, METH_FASTCALL, PyDoc_STR("As _python.read.")},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = PyDoc_STR("The native scanner of records v2."),
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
