/* From a message to bytes: what the functions that encoding.py writes do, in C. Nothing is kept of a message, so
 * that values may even change meanwhile: what is written is what was asked once.
 */
#ifndef KCOMPAT_PROTOCOL_WRITING_H
#define KCOMPAT_PROTOCOL_WRITING_H

#include "_program.h"

typedef struct {
    uint8_t *data;
    Py_ssize_t size;
    Py_ssize_t room;
    PyObject *items;       /* what is complete: byte strings and records */
    uint8_t small[1024];   /* where `data` begins; most messages need no more */
} writer;

static int grow(writer *out, Py_ssize_t size)
{
    if (size > PY_SSIZE_T_MAX / 2 - out->room) {
        PyErr_NoMemory();
        return 0;
    }
    Py_ssize_t room = 2 * out->room + size;
    uint8_t *data = PyMem_Realloc(out->data == out->small ? NULL : out->data, (size_t)room);
    if (data == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    if (out->data == out->small)
        memcpy(data, out->small, (size_t)out->size);
    out->data = data;
    out->room = room;
    return 1;
}

/* Room for `size` more bytes, which count as written; NULL with an exception. */
static inline uint8_t *extend(writer *out, Py_ssize_t size)
{
    if (size > out->room - out->size && !grow(out, size))
        return NULL;
    uint8_t *at = out->data + out->size;
    out->size += size;
    return at;
}

static inline void store16(uint8_t *to, uint64_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static inline void store32(uint8_t *to, uint64_t value)
{
    store16(to, value >> 16);
    store16(to + 2, value);
}

static inline int write_integer(writer *out, uint64_t value, Py_ssize_t size)
{
    uint8_t *to = extend(out, size);
    if (to == NULL)
        return 0;
    if (size == 1)
        to[0] = (uint8_t)value;
    else if (size == 2)
        store16(to, value);
    else if (size == 4)
        store32(to, value);
    else {
        store32(to, value >> 32);
        store32(to + 4, value);
    }
    return 1;
}

static int put_uvarint(uint8_t *to, uint32_t value)
{
    int size = 0;
    for (; value > 0x7F; value >>= 7)
        to[size++] = (uint8_t)(value | 0x80);
    to[size++] = (uint8_t)value;
    return size;
}

static int write_bytes(writer *out, const void *from, Py_ssize_t size)
{
    uint8_t *to = extend(out, size);
    if (to == NULL)
        return 0;
    memcpy(to, from, (size_t)size);
    return 1;
}

static int write_uvarint(writer *out, uint32_t value)
{
    uint8_t bytes[5];
    return write_bytes(out, bytes, put_uvarint(bytes, value));
}

/* A length or count, -1 for null. */
static int write_length(writer *out, int compact, int width, Py_ssize_t length)
{
    if (length > (width == 2 && !compact ? INT16_MAX : INT32_MAX)) {
        PyErr_Format(PyExc_ValueError, "a length of %zd", length);
        return 0;
    }
    return compact ? write_uvarint(out, (uint32_t)(length + 1)) : write_integer(out, (uint64_t)length, width);
}

static int write_number(writer *out, enum kind kind, PyObject *value)
{
    static const struct {
        long long lowest, highest;
    } limits[] = {
        [INT8] = {INT8_MIN, INT8_MAX},      [INT16] = {INT16_MIN, INT16_MAX}, [UINT16] = {0, UINT16_MAX},
        [INT32] = {INT32_MIN, INT32_MAX},   [UINT32] = {0, UINT32_MAX},       [INT64] = {INT64_MIN, INT64_MAX},
    };
    long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred())
        return 0;
    if (number < limits[kind].lowest || number > limits[kind].highest) {
        PyErr_Format(PyExc_ValueError, "%lld is no %s", number, kinds[kind].name);
        return 0;
    }
    return write_integer(out, (uint64_t)number, kinds[kind].size);
}

static int write_buffer(writer *out, const field *f, PyObject *value)
{
    Py_buffer data;
    if (PyObject_GetBuffer(value, &data, PyBUF_SIMPLE) < 0)
        return 0;
    int done = 0;
    if (f->kind != UUID)
        done = write_length(out, f->compact, 4, data.len) && write_bytes(out, data.buf, data.len);
    else if (data.len == 16)
        done = write_bytes(out, data.buf, 16);
    else
        PyErr_Format(PyExc_ValueError, "a uuid of %zd bytes", data.len);
    PyBuffer_Release(&data);
    return done;
}

static int write_float(writer *out, PyObject *value)
{
    double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred())
        return 0;
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return write_integer(out, bits, 8);
}

static int write_text(writer *out, const field *f, PyObject *value)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    return text != NULL && write_length(out, f->compact, 2, size) && write_bytes(out, text, size);
}

/* Complete the bytes written so far as an item of the result. */
static int end_item(writer *out)
{
    if (out->items == NULL && (out->items = PyList_New(0)) == NULL)
        return 0;
    PyObject *item = PyBytes_FromStringAndSize((const char *)out->data, out->size);
    int done = item != NULL && PyList_Append(out->items, item) == 0;
    Py_XDECREF(item);
    out->size = 0;
    return done;
}

/* Records are an item of their own, untouched, after the bytes that lead to them. */
static int write_records(writer *out, const field *f, PyObject *value)
{
    Py_ssize_t size = PyObject_Size(value);
    if (size < 0 || !write_length(out, f->compact, 4, size))
        return 0;
    return size == 0 || (end_item(out) && PyList_Append(out->items, value) == 0);
}

static int write_struct(writer *out, const layout *of, PyObject *owner);

static int write_one(writer *out, const field *f, PyObject *value)
{
    switch (f->kind) {
    case BOOL: {
        int truth = PyObject_IsTrue(value);
        return truth >= 0 && write_integer(out, (uint64_t)truth, 1);
    }
    case FLOAT64:
        return write_float(out, value);
    case STRING:
        return write_text(out, f, value);
    case UUID:
    case BYTES:
        return write_buffer(out, f, value);
    case RECORDS:
        return write_records(out, f, value);
    case STRUCT:
        return write_struct(out, f->element, value);
    default:
        return write_number(out, f->kind, value);
    }
}

static int write_array(writer *out, const field *f, PyObject *value)
{
    Py_ssize_t count = PyObject_Size(value);
    if (count < 0 || !write_length(out, f->compact, 4, count))
        return 0;
    PyObject *elements = PySequence_Fast(value, "not an array");
    int done = elements != NULL;
    for (Py_ssize_t i = 0; done && i < count; i++) {
        PyObject *element = PySequence_GetItem(elements, i);
        done = element != NULL && write_one(out, f, element);
        Py_XDECREF(element);
    }
    Py_XDECREF(elements);
    return done;
}

static int write_field(writer *out, const field *f, PyObject *value)
{
    int is_null = f->nullable && value == Py_None;
    if (f->kind == STRUCT && !f->array)
        return (!f->nullable || write_integer(out, !is_null ? 1 : f->tag < 0 ? 0xFF : 0, 1)) &&
               (is_null || write_one(out, f, value));
    if (is_null)
        return write_length(out, f->compact, f->kind == STRING && !f->array ? 2 : 4, -1);
    return f->array ? write_array(out, f, value) : write_one(out, f, value);
}

static PyObject *get_value(const layout *of, const field *f, PyObject *owner)
{
    if (Py_TYPE(owner) == of->cls)
        return f->get(f->member, owner, (PyObject *)of->cls);
    return PyObject_GetAttr(owner, f->name);
}

/* Whether a value is not the default of its field: -1 with an exception. */
static int differs(const field *f, PyObject *value)
{
    if (value == f->initial)
        return 0;
    if (f->initial == Py_None)
        return 1;
    if (f->empty)
        return value == Py_None ? f->nullable : PyObject_IsTrue(value);
    return PyObject_RichCompareBool(value, f->initial, Py_NE);
}

/* A field that this version has no place for must have its default. */
static int check_absent(const layout *of, const field *f, PyObject *value)
{
    int lost = differs(f, value);
    if (lost <= 0)
        return lost == 0;
    PyObject *name = PyType_GetName(of->cls);
    if (name != NULL)
        PyErr_Format(PyExc_ValueError, "no place for %U.%U", name, f->name);
    Py_XDECREF(name);
    return 0;
}

/* A tag, the size of the value, the value: its size is known, and put in between, when the value is written. */
static int write_tagged(writer *out, const field *f, PyObject *value)
{
    uint8_t size[5];
    if (!write_uvarint(out, (uint32_t)f->tag))
        return 0;
    Py_ssize_t mark = out->size;
    if (!write_field(out, f, value))
        return 0;
    Py_ssize_t written = out->size - mark;
    if (written > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "a tagged field of %zd bytes", written);
        return 0;
    }
    int more = put_uvarint(size, (uint32_t)written);
    if (extend(out, more) == NULL)
        return 0;
    memmove(out->data + mark + more, out->data + mark, (size_t)written);
    memcpy(out->data + mark, size, (size_t)more);
    return 1;
}

static int write_tags(writer *out, const layout *of, PyObject *owner)
{
    Py_ssize_t mark = out->size; /* of the count, one byte: no struct has 128 tags */
    int count = 0;
    if (extend(out, 1) == NULL)
        return 0;
    for (Py_ssize_t i = 0; i < of->tags; i++) {
        PyObject *value = get_value(of, of->tagged[i], owner);
        int there = value == NULL ? -1 : differs(of->tagged[i], value);
        int done = there == 0 || (there > 0 && write_tagged(out, of->tagged[i], value));
        Py_XDECREF(value);
        if (!done)
            return 0;
        count += there;
    }
    out->data[mark] = (uint8_t)count;
    return 1;
}

static int write_struct(writer *out, const layout *of, PyObject *owner)
{
    for (Py_ssize_t i = 0; i < of->count; i++) {
        const field *f = of->fields + i;
        if (f->present ? f->tag >= 0 : f->ignorable)
            continue;
        PyObject *value = get_value(of, f, owner);
        int done = value != NULL && (f->present ? write_field(out, f, value) : check_absent(of, f, value));
        Py_XDECREF(value);
        if (!done)
            return 0;
    }
    return !of->flexible || write_tags(out, of, owner);
}

/* Make what is wrong with a value the cause of a ValueError that names the message; other exceptions stay. */
static void explain(const char *title)
{
    PyObject *type, *fault, *traceback, *error;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_TypeError)
        && !PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_OverflowError)
        && !PyErr_ExceptionMatches(PyExc_IndexError))
        return;
    PyErr_Fetch(&type, &fault, &traceback);
    PyErr_NormalizeException(&type, &fault, &traceback);
    PyErr_Format(PyExc_ValueError, "cannot write %s: %S", title, fault);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    PyException_SetCause(error, fault); /* takes the reference */
    PyErr_Restore(type, error, traceback);
}

#endif
