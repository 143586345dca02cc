/* Committed offsets from the records of a batch: what a coordinator that loads a million of them does most.
 *
 * There is no state between calls. The GIL is kept: a call sees one batch at most.
 */
#include "kcompat/records/_record.h"
#include <string.h>

static int offset_key, value_version;

/* A commit as its record has it; texts are not checked yet. */
typedef struct {
    field group, topic, metadata;
    int32_t partition, leader_epoch;
    int64_t offset, commit_timestamp;
} commit;

static inline int get_short(const uint8_t *at)
{
    return (int16_t)(at[0] << 8 | at[1]);
}

/* A text with an int16 as its length; 0 where it is null or does not fit. */
static int read_text(cursor *in, field *out)
{
    if (in->end - in->at < 2)
        return 0;
    const int size = get_short(in->at);
    if (size < 0 || size > in->end - in->at - 2)
        return 0;
    out->data = (const char *)in->at + 2;
    out->size = size;
    in->at += 2 + size;
    return 1;
}

static inline cursor inside(const field *from)
{
    const uint8_t *start = (const uint8_t *)from->data;
    return (cursor){start, start + from->size};
}

/* 1, or 0 for a record that is anything but the commit of an offset in the form that is written today. */
static int read_commit(const record *from, commit *out)
{
    if (from->key.data == NULL || from->value.data == NULL)
        return 0;
    cursor key = inside(&from->key), value = inside(&from->value);
    if (key.end - key.at < 2 || get_short(key.at) != offset_key)
        return 0;
    key.at += 2;
    if (!read_text(&key, &out->group) || !read_text(&key, &out->topic) || key.end - key.at != 4)
        return 0;
    out->partition = (int32_t)get_int(key.at);
    if (value.end - value.at < 14 || get_short(value.at) != value_version)
        return 0;
    out->offset = get_long(value.at + 2);
    out->leader_epoch = (int32_t)get_int(value.at + 10);
    value.at += 14;
    if (!read_text(&value, &out->metadata) || value.end - value.at != 8)
        return 0;
    out->commit_timestamp = get_long(value.at);
    return 1;
}

/* What is filled: the offsets of the group of the last record, and its topic, as most are like their neighbours. */
typedef struct {
    PyObject *find, *make;
    field group, topic;
    PyObject *offsets, *topic_name;
} filling;

static inline int is_same(const field *one, const field *other)
{
    return one->data != NULL && one->size == other->size && memcmp(one->data, other->data, (size_t)one->size) == 0;
}

/* A text; NULL where it is none, with an exception only for lack of memory. */
static PyObject *text_of(const field *from)
{
    PyObject *text = PyUnicode_DecodeUTF8(from->data, from->size, NULL);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear();
    return text;
}

/* Go on with this group: 1; 0 where its name is no text; -1 with an exception. */
static int enter_group(filling *to, const field *group)
{
    if (is_same(&to->group, group))
        return 1;
    PyObject *name = text_of(group);
    if (name == NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *offsets = PyObject_CallFunctionObjArgs(to->find, name, NULL), *before = to->offsets;
    Py_DECREF(name);
    if (offsets == NULL)
        return -1;
    to->offsets = offsets;
    to->group = *group;
    Py_XDECREF(before);
    return 1;
}

static int enter_topic(filling *to, const field *topic)
{
    if (is_same(&to->topic, topic))
        return 1;
    PyObject *name = text_of(topic), *before = to->topic_name;
    if (name == NULL)
        return PyErr_Occurred() ? -1 : 0;
    to->topic_name = name;
    to->topic = *topic;
    Py_XDECREF(before);
    return 1;
}

/* make(offset, leader epoch, metadata, commit timestamp, -1, record offset); NULL with an exception. */
static PyObject *make_value(const filling *to, const commit *from, PyObject *metadata, int64_t record_offset)
{
    PyObject *arguments = PyTuple_New(6), *made = NULL;
    if (arguments != NULL && put_item(arguments, 0, PyLong_FromLongLong(from->offset))
        && put_item(arguments, 1, PyLong_FromLong(from->leader_epoch)) && put_item(arguments, 2, Py_NewRef(metadata))
        && put_item(arguments, 3, PyLong_FromLongLong(from->commit_timestamp))
        && put_item(arguments, 4, PyLong_FromLong(-1)) && put_item(arguments, 5, PyLong_FromLongLong(record_offset)))
        made = PyObject_CallObject(to->make, arguments);
    Py_XDECREF(arguments);
    return made;
}

static PyObject *make_key(const filling *to, int32_t partition)
{
    PyObject *key = PyTuple_New(2);
    if (key != NULL && put_item(key, 0, Py_NewRef(to->topic_name)) && put_item(key, 1, PyLong_FromLong(partition)))
        return key;
    Py_XDECREF(key);
    return NULL;
}

/* Take one commit: 1; 0 where a text is none; -1 with an exception. */
static int take(filling *to, const commit *from, int64_t record_offset)
{
    PyObject *metadata = text_of(&from->metadata);
    if (metadata == NULL)
        return PyErr_Occurred() ? -1 : 0;
    int done = enter_topic(to, &from->topic);
    if (done > 0)
        done = enter_group(to, &from->group);
    if (done > 0) {
        PyObject *key = make_key(to, from->partition), *value = NULL;
        if (key != NULL)
            value = make_value(to, from, metadata, record_offset);
        done = value != NULL && PyDict_SetItem(to->offsets, key, value) == 0 ? 1 : -1;
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    Py_DECREF(metadata);
    return done;
}

/* Take the records from `in` on, which moves behind those that were taken. False with an exception. */
static int take_all(filling *to, cursor *in, int64_t base_offset)
{
    int going = 1;
    while (going > 0 && in->at < in->end) {
        cursor ahead = *in, body;
        record found;
        commit wanted;
        if (open_record(&ahead, &body) || read_record(&body, &found) || skip_headers(&body, found.headers)
            || !read_commit(&found, &wanted))
            break;
        if ((going = take(to, &wanted, add(base_offset, found.offset_delta))) > 0)
            in->at = ahead.at;
    }
    return going >= 0;
}

static PyObject *fill(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t base_offset;
    Py_buffer records;
    (void)module;
    if (given != 4) {
        PyErr_Format(PyExc_TypeError, "%zd arguments where 4 are expected", given);
        return NULL;
    }
    base_offset = PyLong_AsLongLong(args[1]);
    if ((base_offset == -1 && PyErr_Occurred()) || PyObject_GetBuffer(args[0], &records, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *start = records.buf;
    cursor in = {start, start + records.len};
    filling to = {.find = args[2], .make = args[3]};
    const int done = take_all(&to, &in, base_offset);
    Py_XDECREF(to.offsets);
    Py_XDECREF(to.topic_name);
    PyBuffer_Release(&records);
    return done ? PyLong_FromSsize_t(in.at - start) : NULL;
}

static PyMethodDef methods[] = {
    {"fill", (PyCFunction)(void (*)(void))fill, METH_FASTCALL, PyDoc_STR("As bulk.fill.")},
    {NULL, NULL, 0, NULL},
};

static int start(PyObject *module)
{
    const shared_number key[] = {{"record_type", &offset_key}, {NULL, NULL}};
    const shared_number value[] = {{"OFFSET_VALUE_VERSION", &value_version}, {NULL, NULL}};
    (void)module;
    return read_shared("kcompat.protocol.messages.group_records", "OffsetCommitKey", key) < 0
            || read_shared("kcompat.group.serde", NULL, value) < 0
        ? -1
        : 0;
}

PLAIN_MODULE("_native", "Committed offsets from the records of a batch.")

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
