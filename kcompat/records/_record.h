/* Reading records v2 in C, shared by the extensions that do: each includes this file once.
 *
 * Every byte is read between `at` and `end` of a cursor, each length is compared with what is left before it is
 * used, and nothing is allocated by a length that was not compared. Fields are read once into locals, so even
 * bytes that change meanwhile cannot lead outside.
 */
#ifndef KCOMPAT_RECORDS_RECORD_H
#define KCOMPAT_RECORDS_RECORD_H

#include "kcompat/_module.h"
#include <stdint.h>

/* What is the matter with a record; its number is that of _python.Fault on the way out alone: see fault_number. */
enum fault { WHOLE = 0, CUT, LENGTH, VARINT, FIELD, HEADER_COUNT, HEADER_KEY, LEFT_OVER, OFFSET_DELTA, FAULTS };

static inline int *fault_number(enum fault fault)
{
    static int numbers[FAULTS];
    return &numbers[fault];
}

static inline int read_faults(void)
{
    const shared_number names[] = {
        {"WHOLE", fault_number(WHOLE)}, {"CUT", fault_number(CUT)}, {"LENGTH", fault_number(LENGTH)},
        {"VARINT", fault_number(VARINT)}, {"FIELD", fault_number(FIELD)}, {"HEADER_COUNT", fault_number(HEADER_COUNT)},
        {"HEADER_KEY", fault_number(HEADER_KEY)}, {"LEFT_OVER", fault_number(LEFT_OVER)},
        {"OFFSET_DELTA", fault_number(OFFSET_DELTA)}, {NULL, NULL},
    };
    _Static_assert(sizeof names / sizeof *names == FAULTS + 1, "each fault has a number");
    return read_shared("kcompat.records._python", "Fault", names);
}

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

/* Numbers of fixed width, the highest byte first: the caller knows that they are there. */
static inline uint32_t get_int(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline int64_t get_long(const uint8_t *at)
{
    return (int64_t)((uint64_t)get_int(at) << 32 | get_int(at + 4));
}

/* A zigzag varint of at most `longest` bytes; bits beyond those of the type are dropped, as on a Kafka broker. */
static inline int read_long_varint(cursor *in, int longest, uint64_t *out)
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

static inline enum fault skip_headers(cursor *in, int32_t count)
{
    enum fault fault = WHOLE;
    field name, value;
    while (count-- > 0 && !fault)
        fault = read_header(in, &name, &value);
    return fault ? fault : in->at == in->end ? WHOLE : LEFT_OVER;
}

static inline int64_t add(int64_t base, int64_t delta)
{
    return (int64_t)((uint64_t)base + (uint64_t)delta); /* wraps, as in Java */
}

static inline int read_arguments(PyObject *const *args, Py_ssize_t given, int64_t *out, Py_ssize_t wanted)
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

/* Put what was just made, if it was, into its place of a new tuple. False with an exception. */
static inline int put_item(PyObject *tuple, Py_ssize_t place, PyObject *item)
{
    return item != NULL && PyTuple_SetItem(tuple, place, item) == 0; /* takes the reference */
}

static inline PyObject *tuple_of(const int64_t *numbers, Py_ssize_t count)
{
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        if (!put_item(made, i, PyLong_FromLongLong(numbers[i])))
            Py_CLEAR(made);
    }
    return made;
}

#endif
