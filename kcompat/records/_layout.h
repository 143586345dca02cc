/* Where things stand in batches and messages: the numbers of layout.py, which an extension reads when it is loaded. */
#ifndef KCOMPAT_RECORDS_LAYOUT_H
#define KCOMPAT_RECORDS_LAYOUT_H

#include "_record.h"

#define LAYOUT "kcompat.records.layout"

/* The fields of a batch header in the order of BatchHeader. */
enum header_field {
    BASE_OFFSET, BATCH_LENGTH, LEADER_EPOCH, MAGIC, CRC, ATTRIBUTES, LAST_OFFSET_DELTA, BASE_TIMESTAMP, MAX_TIMESTAMP,
    PRODUCER_ID, PRODUCER_EPOCH, BASE_SEQUENCE, RECORD_COUNT, FIELDS
};
static const char *const header_names[] = {
    "base_offset", "batch_length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta", "base_timestamp",
    "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "record_count",
};
_Static_assert(sizeof header_names / sizeof *header_names == FIELDS, "each field has a name");

/* Where a field of a header stands, which ends at the eighth byte or behind that, and within header_size. */
static struct {
    int at, size, is_signed;
} header_places[FIELDS];
static int header_size, magic_v2, log_overhead, codec_mask, log_append_time;

/* The caller knows that there is a whole header. Of the eight bytes that end with the field, the first are not its. */
static inline int64_t get_field(const uint8_t *header, enum header_field which)
{
    const int end = header_places[which].at + header_places[which].size, others = 64 - 8 * header_places[which].size;
    const uint64_t raw = (uint64_t)get_long(header + end - 8) << others;
    return header_places[which].is_signed ? (int64_t)raw >> others : (int64_t)(raw >> others);
}

static int read_place(PyObject *places, enum header_field which)
{
    int at, size, is_signed;
    PyObject *place = PyMapping_GetItemString(places, header_names[which]);
    if (place == NULL)
        return -1;
    const int read = PyArg_ParseTuple(place, "iip", &at, &size, &is_signed);
    Py_DECREF(place);
    if (!read)
        return -1;
    if (at < 0 || size < 1 || size > 8 || at > header_size - size || at + size < 8) {
        PyErr_Format(PyExc_ValueError, "%d bytes at %d of a batch header: %s", size, at, header_names[which]);
        return -1;
    }
    header_places[which].at = at;
    header_places[which].size = size;
    header_places[which].is_signed = is_signed;
    return 0;
}

/* 0, or -1 with an exception. */
static int read_layout(void)
{
    const shared_number numbers[] = {
        {"HEADER_SIZE", &header_size}, {"MAGIC", &magic_v2}, {"LOG_OVERHEAD", &log_overhead},
        {"CODEC_MASK", &codec_mask}, {"LOG_APPEND_TIME_FLAG", &log_append_time}, {NULL, NULL},
    };
    if (read_shared(LAYOUT, NULL, numbers) < 0)
        return -1;
    PyObject *module = PyImport_ImportModule(LAYOUT);
    if (module == NULL)
        return -1;
    PyObject *places = PyObject_GetAttrString(module, "HEADER_PLACES");
    Py_DECREF(module);
    if (places == NULL)
        return -1;
    int done = 0;
    for (int i = 0; i < FIELDS && done == 0; i++)
        done = read_place(places, (enum header_field)i);
    Py_DECREF(places);
    return done;
}

#endif
