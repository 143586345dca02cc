/* Records v2 as messages of magic 0 or 1, and back: what _conversion_python.py does, in C. See
 * docs/internals/records.md.
 *
 * The functions take any buffer and keep the GIL: a call makes as much as it is given room for. There is no
 * state between calls.
 */
#include "_crc.h"
#include "_record.h"
#include <string.h>

enum { FIRST_CAPACITY = 96 * 1024 };

/* A message: int64 offset, int32 size of what follows, uint32 CRC of what follows that, int8 magic, int8 attributes, in
 * magic 1 int64 timestamp, then key and value, each behind an int32 length. The numbers are those of layout.py. */
static int length_at, log_overhead, magic_at, crc_at, attributes_at, smallest_message, codec_mask, log_append_time,
    no_timestamp;

/* _conversion_python.Flag. */
static int keys_wanted, brokers_time, inside_wrapper, marked_wrapper;

enum { LONGEST_HEAD = 32 }; /* bytes of a record beside key and value, at most */

static inline uint8_t *put_int(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
    return to + 4;
}

static inline uint8_t *put_long(uint8_t *to, uint64_t value)
{
    return put_int(put_int(to, (uint32_t)(value >> 32)), (uint32_t)value);
}

static inline uint8_t *put_bytes(uint8_t *to, const field *from)
{
    if (from->data != NULL)
        memcpy(to, from->data, (size_t)from->size);
    return to + from->size;
}

static inline uint8_t *put_field(uint8_t *to, const field *from)
{
    return put_bytes(put_int(to, from->data == NULL ? UINT32_MAX : (uint32_t)from->size), from);
}

static inline int64_t subtract(int64_t value, int64_t base)
{
    return (int64_t)((uint64_t)value - (uint64_t)base); /* wraps, as in Java */
}

static inline Py_ssize_t message_size(const record *from, int magic)
{
    return log_overhead + smallest_message + (magic ? (Py_ssize_t)sizeof(int64_t) : 0) + from->key.size
        + from->value.size;
}

static uint8_t *put_message(
    uint8_t *to, int64_t offset, int magic, int attributes, int64_t timestamp, const record *from)
{
    uint8_t *end = to + attributes_at + 1;
    to[magic_at] = (uint8_t)magic;
    to[attributes_at] = (uint8_t)attributes;
    if (magic)
        end = put_long(end, (uint64_t)timestamp);
    end = put_field(put_field(end, &from->key), &from->value);
    put_long(to, (uint64_t)offset);
    put_int(to + length_at, (uint32_t)(end - to - log_overhead));
    put_int(to + crc_at, crc32_of(to + magic_at, end));
    return end;
}

/* The buffer args[0], and the numbers after it, of which the first is a position in there. */
static int open_input(
    PyObject *const *args, Py_ssize_t given, int64_t *numbers, Py_ssize_t wanted, Py_buffer *in)
{
    if (!read_arguments(args, given, numbers, wanted) || PyObject_GetBuffer(args[0], in, PyBUF_SIMPLE) < 0)
        return 0;
    if (numbers[0] >= 0 && numbers[0] <= in->len)
        return 1;
    PyErr_SetString(PyExc_ValueError, "a position outside the buffer");
    PyBuffer_Release(in);
    return 0;
}

/* (bytes, number, ...), both taken over; NULL where one of them is missing. */
static PyObject *join_results(PyObject *made, PyObject *numbers)
{
    PyObject *head = made && numbers ? PyTuple_Pack(1, made) : NULL;
    PyObject *all = head ? PySequence_Concat(head, numbers) : NULL;
    Py_XDECREF(head);
    Py_XDECREF(made);
    Py_XDECREF(numbers);
    return all;
}

/* What every message of one call has in common. */
typedef struct {
    int64_t base_offset;
    int64_t base_timestamp;
    int64_t first_offset;
    int64_t origin;
    int magic;
    int attributes;
} message_form;

static inline int64_t time_of(const record *from, const message_form *form)
{
    return form->attributes & log_append_time ? form->base_timestamp
                                              : add(form->base_timestamp, from->timestamp_delta);
}

/* `count` records, seen to be sound, as messages; NULL where those have not `size` bytes after all. */
static PyObject *encode_messages(cursor in, int64_t count, Py_ssize_t size, const message_form *form)
{
    PyObject *made = PyBytes_FromStringAndSize(NULL, size);
    if (made == NULL)
        return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AsString(made);
    const uint8_t *end = to + size;
    cursor inside;
    record found;
    for (; count > 0; count--) {
        if (open_record(&in, &inside) || read_record(&inside, &found))
            break;
        int64_t offset = add(form->base_offset, found.offset_delta);
        if (offset < form->first_offset)
            continue;
        if (message_size(&found, form->magic) > end - to)
            break;
        to = put_message(
            to, subtract(offset, form->origin), form->magic, form->attributes, time_of(&found, form), &found);
    }
    if (count > 0 || to != end) {
        Py_CLEAR(made);
        PyErr_SetString(PyExc_RuntimeError, "the records changed while they were read");
    }
    return made;
}

static PyObject *write_messages(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[8];
    Py_buffer buffer;
    (void)module;
    if (!open_input(args, given, numbers, 8, &buffer))
        return NULL;
    const int64_t room = numbers[1];
    message_form form = {numbers[4], numbers[5], numbers[6], numbers[7], numbers[2] != 0, (int)numbers[3]};
    int64_t count = 0, last = -1, newest = no_timestamp;
    const uint8_t *start = buffer.buf, *done = start + numbers[0];
    const cursor whole = {done, start + buffer.len};
    cursor in = whole, inside;
    enum fault fault = WHOLE;
    Py_ssize_t size = 0;
    record found;
    for (; size < room && in.at < in.end; done = in.at, count++) {
        if ((fault = open_record(&in, &inside)) || (fault = read_record(&inside, &found))
            || (fault = skip_headers(&inside, found.headers)))
            break;
        last = add(form.base_offset, found.offset_delta);
        if (count == 0 && form.origin < 0)
            form.origin = last;
        int64_t timestamp = time_of(&found, &form);
        if (timestamp > newest)
            newest = timestamp;
        if (last >= form.first_offset)
            size += message_size(&found, form.magic);
    }
    const int64_t results[] = {done - start, *fault_number(fault), count, form.origin, last, newest};
    PyObject *made = encode_messages(whole, count, size, &form);
    PyBuffer_Release(&buffer);
    return join_results(made, made ? tuple_of(results, 6) : NULL);
}

static PyObject *write_wrapper(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[4];
    Py_buffer buffer;
    (void)module;
    if (!read_arguments(args, given, numbers, 4) || PyObject_GetBuffer(args[0], &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    const int magic = numbers[1] != 0;
    const record wrapper = {.value = {buffer.buf, buffer.len}};
    PyObject *made = PyBytes_FromStringAndSize(NULL, message_size(&wrapper, magic));
    if (made != NULL)
        put_message(
            (uint8_t *)PyBytes_AsString(made), numbers[0], magic, (int)numbers[2], numbers[3], &wrapper);
    PyBuffer_Release(&buffer);
    return made;
}

/* Bytes that grow. */
typedef struct {
    uint8_t *start;
    size_t used;
    size_t capacity;
} output;

static uint8_t *reserve(output *out, size_t needed)
{
    if (needed > out->capacity - out->used) {
        size_t capacity = out->used + needed;
        if (capacity < 2 * out->capacity)
            capacity = 2 * out->capacity;
        if (capacity < FIRST_CAPACITY)
            capacity = FIRST_CAPACITY;
        uint8_t *grown = PyMem_Realloc(out->start, capacity);
        if (grown == NULL)
            return NULL;
        out->start = grown;
        out->capacity = capacity;
    }
    return out->start + out->used;
}

static inline uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int varint_size(uint64_t raw)
{
    int size = 1;
    while (raw >>= 7)
        size++;
    return size;
}

static inline uint8_t *put_varint(uint8_t *to, int64_t value)
{
    uint64_t raw = zigzag(value);
    for (; raw > 0x7F; raw >>= 7)
        *to++ = (uint8_t)(raw | 0x80);
    *to++ = (uint8_t)raw;
    return to;
}

/* The length that stands before a field of a record v2, -1 for null. */
static inline int64_t length_of(const field *from)
{
    return from->data == NULL ? -1 : from->size;
}

static uint8_t *put_record(uint8_t *to, const record *from)
{
    const int64_t key = length_of(&from->key), value = length_of(&from->value);
    const int64_t size = 2 /* attributes, no headers */ + varint_size(zigzag(from->timestamp_delta))
        + varint_size(zigzag(from->offset_delta)) + varint_size(zigzag(key)) + from->key.size
        + varint_size(zigzag(value)) + from->value.size;
    to = put_varint(to, size);
    *to++ = 0;
    to = put_varint(put_varint(to, from->timestamp_delta), from->offset_delta);
    to = put_bytes(put_varint(to, key), &from->key);
    to = put_bytes(put_varint(to, value), &from->value);
    *to++ = 0;
    return to;
}

/* A key or value of a message. */
static inline int read_old_field(cursor *in, field *out)
{
    if (in->end - in->at < 4)
        return 0;
    const int32_t size = (int32_t)get_int(in->at);
    in->at += 4;
    out->data = NULL;
    out->size = 0;
    if (size < 0)
        return 1;
    if (size > in->end - in->at)
        return 0;
    out->data = (const char *)in->at;
    out->size = size;
    in->at += size;
    return 1;
}

/* The whole, sound, plain message of `magic` at `in`, which moves behind it; 0 where anything else is. */
static int read_message(
    cursor *in, int magic, int64_t largest, int *attributes, int64_t *timestamp, record *out)
{
    const uint8_t *at = in->at;
    if (in->end - at <= attributes_at)
        return 0;
    const int64_t size = (int32_t)get_int(at + length_at);
    if (size < smallest_message || size > in->end - at - log_overhead || size + log_overhead > largest)
        return 0;
    cursor fields = {at + attributes_at + 1, at + log_overhead + size};
    *attributes = at[attributes_at];
    if (at[magic_at] != magic || *attributes & codec_mask
        || crc32_of(at + magic_at, fields.end) != get_int(at + crc_at))
        return 0;
    *timestamp = no_timestamp;
    if (magic) {
        if (fields.end - fields.at < 8)
            return 0;
        *timestamp = get_long(fields.at);
        fields.at += 8;
    }
    if (!read_old_field(&fields, &out->key) || !read_old_field(&fields, &out->value))
        return 0;
    in->at = fields.end;
    return 1;
}

/* Whether a topic does not take such a message. */
static inline int offends(
    int64_t timestamp, int marked, int keyless, int flags, int64_t earliest, int64_t latest)
{
    if ((keyless && flags & keys_wanted) || timestamp < no_timestamp)
        return 1;
    if (timestamp == no_timestamp || flags & brokers_time)
        return marked;
    return timestamp < earliest || timestamp > latest;
}

static PyObject *write_records(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t numbers[9];
    Py_buffer buffer;
    (void)module;
    if (!open_input(args, given, numbers, 9, &buffer))
        return NULL;
    const int64_t room = numbers[1], largest = numbers[2], index = numbers[5];
    const int magic = numbers[3] != 0, flags = (int)numbers[4];
    int64_t base = numbers[6], count = 0, last = -1, newest = no_timestamp, timestamp;
    const uint8_t *start = buffer.buf;
    cursor in = {start + numbers[0], start + buffer.len};
    const uint8_t *done = in.at;
    output out = {NULL, 0, 0};
    int is_short = 0, attributes;
    record found;
    for (; (int64_t)out.used <= room; done = in.at, count++) {
        if (!read_message(&in, magic, largest, &attributes, &timestamp, &found))
            break;
        int marked = magic && attributes & log_append_time;
        if (flags & inside_wrapper)
            marked = flags & marked_wrapper;
        if (flags & marked_wrapper)
            timestamp = base;
        if (offends(timestamp, marked, found.key.data == NULL, flags, numbers[7], numbers[8]))
            break;
        if (index + count == 0)
            base = timestamp;
        if (timestamp > newest)
            newest = timestamp;
        found.timestamp_delta = subtract(timestamp, base);
        found.offset_delta = (int32_t)(index + count);
        uint8_t *to = reserve(&out, (size_t)(LONGEST_HEAD + found.key.size + found.value.size));
        if ((is_short = to == NULL))
            break;
        last = get_long(done);
        out.used = (size_t)(put_record(to, &found) - out.start);
    }
    PyBuffer_Release(&buffer);
    const int64_t results[] = {done - start, count, base, newest, last};
    PyObject *made = is_short ? PyErr_NoMemory()
                              : PyBytes_FromStringAndSize((const char *)out.start, (Py_ssize_t)out.used);
    PyMem_Free(out.start);
    return join_results(made, made ? tuple_of(results, 5) : NULL);
}

static PyMethodDef methods[] = {
    {"write_messages", (PyCFunction)(void (*)(void))write_messages, METH_FASTCALL,
     PyDoc_STR("As _conversion_python.write_messages.")},
    {"write_records", (PyCFunction)(void (*)(void))write_records, METH_FASTCALL,
     PyDoc_STR("As _conversion_python.write_records.")},
    {"write_wrapper", (PyCFunction)(void (*)(void))write_wrapper, METH_FASTCALL,
     PyDoc_STR("As _conversion_python.write_wrapper.")},
    {NULL, NULL, 0, NULL},
};

static int start(PyObject *module)
{
    const shared_number layout[] = {
        {"LENGTH_AT", &length_at}, {"LOG_OVERHEAD", &log_overhead}, {"MAGIC_AT", &magic_at},
        {"MESSAGE_CRC_AT", &crc_at}, {"MESSAGE_ATTRIBUTES_AT", &attributes_at}, {"SMALLEST_MESSAGE", &smallest_message},
        {"CODEC_MASK", &codec_mask}, {"LOG_APPEND_TIME_FLAG", &log_append_time}, {"NO_TIMESTAMP", &no_timestamp},
        {NULL, NULL},
    };
    const shared_number flags[] = {
        {"KEYS_WANTED", &keys_wanted}, {"BROKERS_TIME", &brokers_time}, {"INSIDE", &inside_wrapper},
        {"MARKED", &marked_wrapper}, {NULL, NULL},
    };
    (void)module;
    prepare_crc32();
    if (read_shared("kcompat.records.layout", NULL, layout) < 0 || read_faults() < 0)
        return -1;
    return read_shared("kcompat.records._conversion_python", "Flag", flags);
}

PLAIN_MODULE("_conversion", "Records v2 as older messages, and back.")

PyMODINIT_FUNC PyInit__conversion(void)
{
    return PyModuleDef_Init(&definition);
}
