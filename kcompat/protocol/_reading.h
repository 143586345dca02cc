/* From bytes to a message: what the functions that decoding.py writes do, in C.
 *
 * Every byte is read between `at` and `end` of a reader, each length is compared with what is left before it is used,
 * and lists grow as their elements are read: nothing is allocated by a count. What is wrong with the bytes is a
 * ProtocolViolation that names the message.
 */
#ifndef KCOMPAT_PROTOCOL_READING_H
#define KCOMPAT_PROTOCOL_READING_H

#include "_program.h"

static int max_unknown_tags; /* of schema.py */

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    const uint8_t *start;
    PyObject *frame;       /* the object that the bytes are in */
    long long budget;      /* of values that may still come out of arrays */
    PyObject *violation;
    const char *title;
} reader;

static int cut_short(const reader *in)
{
    PyErr_Format(in->violation, "%s is cut short", in->title);
    return 0;
}

static int bad_length(const reader *in, long long length)
{
    PyErr_Format(in->violation, "%s: length %lld is null or more than there is", in->title, length);
    return 0;
}

static int too_many_tags(const reader *in, uint32_t count)
{
    PyErr_Format(in->violation, "%s: %lld tagged fields", in->title, (long long)count);
    return 0;
}

/* The next `size` bytes, behind which the reader moves; NULL with an exception if there are less. */
static inline const uint8_t *take(reader *in, Py_ssize_t size)
{
    const uint8_t *taken = in->at;
    if (size > in->end - taken) {
        cut_short(in);
        return NULL;
    }
    in->at += size;
    return taken;
}

static inline uint32_t load16(const uint8_t *from)
{
    return (uint32_t)from[0] << 8 | from[1];
}

static inline uint32_t load32(const uint8_t *from)
{
    return load16(from) << 16 | load16(from + 2);
}

static inline uint64_t load64(const uint8_t *from)
{
    return (uint64_t)load32(from) << 32 | load32(from + 4);
}

static int read_long_uvarint(reader *in, uint32_t *out)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        if (in->at == in->end)
            return cut_short(in);
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            if (value > UINT32_MAX)
                break;
            *out = (uint32_t)value;
            return 1;
        }
    }
    PyErr_Format(in->violation, "%s: varint does not fit 32 bits", in->title);
    return 0;
}

static inline int read_uvarint(reader *in, uint32_t *out)
{
    if (in->at == in->end || *in->at >= 0x80)
        return read_long_uvarint(in, out);
    *out = *in->at++;
    return 1;
}

/* A length or count, less than 0 for null. `width` is that of the form that is not compact, in bytes. */
static inline int read_length(reader *in, int compact, int width, long long *out)
{
    if (compact) {
        uint32_t raw;
        if (!read_uvarint(in, &raw))
            return 0;
        *out = (long long)raw - 1;
        return 1;
    }
    const uint8_t *from = take(in, width);
    if (from == NULL)
        return 0;
    *out = width == 2 ? (int16_t)load16(from) : (int32_t)load32(from);
    return 1;
}

static PyObject *read_fixed(reader *in, enum kind kind)
{
    const uint8_t *from = take(in, kinds[kind].size);
    if (from == NULL)
        return NULL;
    switch (kind) {
    case BOOL:
        return PyBool_FromLong(*from);
    case INT8:
        return PyLong_FromLong((int8_t)*from);
    case INT16:
        return PyLong_FromLong((int16_t)load16(from));
    case UINT16:
        return PyLong_FromLong((long)load16(from));
    case INT32:
        return PyLong_FromLong((int32_t)load32(from));
    case UINT32:
        return PyLong_FromLongLong(load32(from));
    case INT64:
        return PyLong_FromLongLong((int64_t)load64(from));
    case FLOAT64: {
        uint64_t bits = load64(from);
        double value;
        memcpy(&value, &bits, sizeof value);
        return PyFloat_FromDouble(value);
    }
    default: /* UUID */
        return PyBytes_FromStringAndSize((const char *)from, 16);
    }
}

/* A string, which is copied, bytes, likewise, or records, which stay a slice of the frame. */
static PyObject *read_sized(reader *in, const field *f, int nullable)
{
    long long length;
    if (!read_length(in, f->compact, f->kind == STRING ? 2 : 4, &length))
        return NULL;
    if (length < 0 && nullable)
        return Py_NewRef(Py_None);
    if (length < 0 || length > in->end - in->at) {
        bad_length(in, length);
        return NULL;
    }
    const char *from = (const char *)in->at;
    in->at += length;
    if (f->kind == STRING)
        return PyUnicode_DecodeUTF8(from, length, "replace");
    if (f->kind == BYTES)
        return PyBytes_FromStringAndSize(from, length);
    return PySequence_GetSlice(in->frame, in->at - length - in->start, in->at - in->start);
}

static PyObject *read_struct(reader *in, const layout *of, PyObject **values);

/* One element of an array, or a value that is not an array; `values` is for read_struct. */
static inline PyObject *read_one(reader *in, const field *f, int nullable, PyObject **values)
{
    if (f->kind < STRING)
        return read_fixed(in, f->kind);
    if (f->kind < STRUCT)
        return read_sized(in, f, nullable);
    if (nullable) {
        const uint8_t *mark = take(in, 1);
        if (mark == NULL)
            return NULL;
        if (f->tag < 0 ? *mark >= 0x80 : *mark == 0) /* in the tag section it is a varint */
            return Py_NewRef(Py_None);
    }
    return read_struct(in, f->element, values);
}

static PyObject *read_array(reader *in, const field *f)
{
    long long count;
    if (!read_length(in, f->compact, 4, &count))
        return NULL;
    if (count < 0 && f->nullable)
        return Py_NewRef(Py_None);
    if (count < 0 || count * f->element_size > in->end - in->at) {
        PyErr_Format(in->violation, "%s: array of %lld elements is null or more than there is", in->title, count);
        return NULL;
    }
    in->budget -= count * (f->element && f->element->count ? f->element->count : 1);
    if (in->budget < 0) {
        PyErr_Format(in->violation, "%s: too many values in one message", in->title);
        return NULL;
    }
    PyObject *elements = PyList_New(0), *values = NULL;
    while (elements != NULL && count-- > 0) {
        PyObject *element = read_one(in, f, 0, &values);
        if (element == NULL || PyList_Append(elements, element) < 0)
            Py_CLEAR(elements);
        Py_XDECREF(element);
    }
    Py_XDECREF(values);
    return elements;
}

static inline PyObject *read_field(reader *in, const field *f)
{
    PyObject *values = NULL;
    if (f->array)
        return read_array(in, f);
    PyObject *value = read_one(in, f, f->nullable, &values);
    Py_XDECREF(values);
    return value;
}

static PyObject *make_default(const field *f)
{
    if (f->fresh == NULL)
        return Py_NewRef(f->initial);
    return f->fresh == (PyObject *)&PyList_Type ? PyList_New(0) : PyObject_CallNoArgs(f->fresh);
}

/* A tag section; the fields that are known go into `values`, those of a struct with the layout, which may be NULL. */
static int read_tags(reader *in, const layout *of, PyObject *values)
{
    uint32_t count, tag, size;
    int unknown = 0;
    if (!read_uvarint(in, &count))
        return 0;
    if ((long long)count * 2 > in->end - in->at)
        return too_many_tags(in, count);
    for (uint32_t left = count; left > 0; left--) {
        if (!read_uvarint(in, &tag) || !read_uvarint(in, &size))
            return 0;
        if (size > in->end - in->at)
            return bad_length(in, size);
        const uint8_t *end = in->at + size;
        Py_ssize_t i = 0, known = of == NULL ? 0 : of->tags;
        while (i < known && of->tagged[i]->tag != (long long)tag)
            i++;
        if (i == known) {
            if (++unknown > max_unknown_tags)
                return too_many_tags(in, count);
            in->at = end;
            continue;
        }
        PyObject *value = read_field(in, of->tagged[i]);
        if (value == NULL || PyTuple_SetItem(values, of->tagged[i] - of->fields, value) < 0)
            return 0;
        if (in->at != end) {
            PyErr_Format(in->violation, "%s: tagged field %lld does not have its size", in->title, (long long)tag);
            return 0;
        }
    }
    return 1;
}

/* `values` is the tuple that the constructor is called with, or NULL when there is none yet: making it once for a whole
 * array saves a good part of the time. The caller drops it.
 */
static PyObject *read_struct(reader *in, const layout *of, PyObject **values)
{
    if (*values != NULL && Py_REFCNT(*values) != 1)
        Py_CLEAR(*values); /* somebody has kept it */
    if (*values == NULL && (*values = PyTuple_New(of->used)) == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < of->used; i++) {
        const field *f = of->fields + i;
        PyObject *value = f->present && f->tag < 0 ? read_field(in, f) : make_default(f);
        if (value == NULL || PyTuple_SetItem(*values, i, value) < 0) /* takes the reference */
            return NULL;
    }
    if (of->flexible && !read_tags(in, of, *values))
        return NULL;
    return PyObject_Call((PyObject *)of->cls, *values, NULL);
}

#endif
