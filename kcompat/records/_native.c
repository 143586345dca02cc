/* The native scanner of records v2: what _python.py does, in C. See docs/internals/records.md.
 *
 * Both functions take any buffer of whole, uncompressed records and keep the GIL: a call sees one batch at most.
 * There is no state between calls.
 */
#include "_record.h"

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
