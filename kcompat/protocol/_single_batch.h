/* Where the batch lies in a Produce that has no other, found without reading what is around it: see the pure-Python
 * implementation, single_batch.py. Every byte is read between `at` and `end`; what is not as expected is no error here.
 */
#ifndef KCOMPAT_PROTOCOL_SINGLE_BATCH_H
#define KCOMPAT_PROTOCOL_SINGLE_BATCH_H

#include "_reading.h"

static int first_flexible, first_with_ids, head_at, acks_and_timeout; /* of single_batch.py */

enum { INDEX_SIZE = 4, LONGEST_VARINT = 5, UUID_SIZE = 16 };

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    int flexible;
} cursor;

/* Pass `size` bytes; 0 if there are fewer. */
static int pass(cursor *in, long long size)
{
    if (size < 0 || size > in->end - in->at)
        return 0;
    in->at += size;
    return 1;
}

/* The next length or count, -1 for null; -2 where there is none. `width` is that of the form that is not compact. */
static long long next_length(cursor *in, int width)
{
    const uint8_t *from = in->at;
    uint64_t value = 0;
    if (!in->flexible) {
        if (!pass(in, width))
            return -2;
        return width == 2 ? (int16_t)load16(from) : (int32_t)load32(from);
    }
    for (int i = 0; i < LONGEST_VARINT; i++) {
        if (!pass(in, 1))
            return -2;
        value |= (uint64_t)(from[i] & 0x7F) << 7 * i;
        if (from[i] < 0x80)
            return (long long)value - 1;
    }
    return -2;
}

/* Pass an empty section of tagged fields, where the version has such sections. */
static int pass_no_tags(cursor *in)
{
    return !in->flexible || (pass(in, 1) && !in->at[-1]);
}

static int pass_client_id(cursor *in)
{
    const uint8_t *from = in->at;
    if (!pass(in, 2))
        return 0;
    const int16_t length = (int16_t)load16(from);
    return (length < 0 || pass(in, length)) && pass_no_tags(in);
}

/* What lies where in a Produce: `head` and `records` point into it. */
typedef struct {
    const uint8_t *head;
    const uint8_t *head_end;
    const uint8_t *records;
    long long size;
} single_batch;

static int find(cursor *in, long version, single_batch *found)
{
    if (!pass(in, head_at))
        return 0;
    found->head = in->at;
    if (!pass_client_id(in) || next_length(in, 2) != -1 || !pass(in, acks_and_timeout) || next_length(in, 4) != 1
        || !pass(in, version < first_with_ids ? next_length(in, 2) : UUID_SIZE) || next_length(in, 4) != 1
        || !pass(in, INDEX_SIZE))
        return 0;
    found->head_end = in->at;
    found->size = next_length(in, 4);
    found->records = in->at;
    return pass(in, found->size) && pass_no_tags(in) && pass_no_tags(in) && pass_no_tags(in) && in->at == in->end;
}

static PyObject *find_single_batch(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    Py_buffer frame;
    (void)module;
    if (given != 2) {
        PyErr_Format(PyExc_TypeError, "%zd arguments where 2 are expected", given);
        return NULL;
    }
    const long version = PyLong_AsLong(args[1]);
    if (version == -1 && PyErr_Occurred())
        return NULL;
    if (PyObject_GetBuffer(args[0], &frame, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *start = frame.buf;
    cursor in = {start, start + frame.len, version >= first_flexible};
    single_batch it;
    PyObject *result;
    if (find(&in, version, &it)) {
        const Py_ssize_t at = it.records - start;
        PyObject *head = PyBytes_FromStringAndSize((const char *)it.head, it.head_end - it.head);
        result = Py_BuildValue("(Nnn)", head, at, at + (Py_ssize_t)it.size);
    }
    else
        result = Py_NewRef(Py_None);
    PyBuffer_Release(&frame);
    return result;
}

#endif
