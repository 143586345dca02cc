/* The native codec: a Codec reads and writes one version of a message by walking its layout. See
 * docs/internals/protocol.md. Nothing is kept between calls and a layout does not change, so several threads may use
 * the same Codec.
 */
#include "_reading.h"
#include "_single_batch.h"
#include "_writing.h"

static int max_values; /* of schema.py */

typedef struct {
    PyObject *violation;   /* ProtocolViolation */
    PyTypeObject *codec;
} state;

typedef struct {
    PyObject_HEAD
    PyObject *title;
    const char *title_text;
    PyObject *violation;
    layout *layout;
} codec;

static PyObject *decode(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    codec *by = (codec *)self;
    Py_buffer frame;
    if (given != 2 && given != 3) {
        PyErr_Format(PyExc_TypeError, "%zd arguments where 2 or 3 are expected", given);
        return NULL;
    }
    const Py_ssize_t position = PyLong_AsSsize_t(args[1]);
    if (position == -1 && PyErr_Occurred())
        return NULL;
    const long long budget = given == 3 ? PyLong_AsLongLong(args[2]) : max_values;
    if (budget == -1 && PyErr_Occurred())
        return NULL;
    if (PyObject_GetBuffer(args[0], &frame, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *start = frame.buf;
    reader in = {start, start + frame.len, start, args[0], budget, by->violation, by->title_text};
    PyObject *message = NULL, *values = NULL, *result = NULL;
    if (position < 0 || position > frame.len)
        cut_short(&in);
    else {
        in.at += position;
        message = read_struct(&in, by->layout, &values);
    }
    Py_XDECREF(values);
    PyBuffer_Release(&frame);
    if (message != NULL)
        result = Py_BuildValue("(Nn)", message, in.at - start);
    return result;
}

/* (correlation id, client id, where the body begins) of a frame whose header has the version given. */
static PyObject *read_request_header(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    static const field client_id = {.kind = STRING}; /* its length is an int16 in the flexible header too */
    Py_buffer frame;
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
    const state *known = PyModule_GetState(module);
    reader in = {start, start + frame.len, start, args[0], 0, known->violation, "request header"};
    PyObject *client = NULL, *result = NULL;
    const uint8_t *from = take(&in, 8);
    if (from != NULL)
        client = version ? read_sized(&in, &client_id, 1) : Py_NewRef(Py_None);
    if (client != NULL && (version != 2 || read_tags(&in, NULL, NULL)))
        result = Py_BuildValue("(iOn)", (int)load32(from + 4), client, in.at - start);
    Py_XDECREF(client);
    PyBuffer_Release(&frame);
    return result;
}

/* The items of a message, the first with `room` bytes ahead of it for the caller to fill in. */
static PyObject *write_message(codec *by, PyObject *message, Py_ssize_t room)
{
    writer out;
    out.data = out.small;
    out.size = room;
    out.room = sizeof out.small;
    out.items = NULL;
    int done = write_struct(&out, by->layout, message);
    if (done && (out.size || out.items == NULL))
        done = end_item(&out);
    if (out.data != out.small)
        PyMem_Free(out.data);
    if (done)
        return out.items;
    Py_XDECREF(out.items);
    explain(by->title_text);
    return NULL;
}

static PyObject *encode(PyObject *self, PyObject *message)
{
    return write_message((codec *)self, message, 0);
}

static PyObject *frame(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    enum { SIZE = 4, CORRELATION_ID = 4 };
    if (given != 3) {
        PyErr_Format(PyExc_TypeError, "%zd arguments where 3 are expected", given);
        return NULL;
    }
    const long correlation_id = PyLong_AsLong(args[1]);
    if (correlation_id == -1 && PyErr_Occurred())
        return NULL;
    const long header_version = PyLong_AsLong(args[2]);
    if (header_version == -1 && PyErr_Occurred())
        return NULL;
    Py_ssize_t size = -SIZE;
    PyObject *items = write_message((codec *)self, args[0], SIZE + CORRELATION_ID + (header_version ? 1 : 0));
    for (Py_ssize_t i = 0; items != NULL && i < PyList_Size(items); i++) {
        Py_ssize_t more = PyObject_Size(PyList_GetItem(items, i));
        if (more < 0)
            Py_CLEAR(items);
        size += more;
    }
    if (items == NULL)
        return NULL;
    if (size > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "cannot write %s: a response of %zd bytes", ((codec *)self)->title_text, size);
        Py_DECREF(items);
        return NULL;
    }
    uint8_t *head = (uint8_t *)PyBytes_AsString(PyList_GetItem(items, 0)); /* new, and nobody else's yet */
    store32(head, (uint64_t)size);
    store32(head + SIZE, (uint64_t)correlation_id);
    if (header_version)
        head[SIZE + CORRELATION_ID] = 0; /* no tags */
    return items;
}

static PyObject *new_codec(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *title, *program;
    const state *known = PyType_GetModuleState(type);
    if (known == NULL || !PyArg_ParseTuple(args, "UO!", &title, &PyTuple_Type, &program))
        return NULL;
    (void)keywords;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    codec *made = (codec *)allocate(type, 0);
    if (made == NULL)
        return NULL;
    made->title = Py_NewRef(title);
    made->violation = Py_NewRef(known->violation);
    made->title_text = PyUnicode_AsUTF8AndSize(title, NULL);
    made->layout = made->title_text == NULL ? NULL : make_layout(program, 0);
    if (made->layout == NULL)
        Py_CLEAR(made);
    return (PyObject *)made;
}

static void free_codec(PyObject *self)
{
    codec *gone = (codec *)self;
    PyTypeObject *type = Py_TYPE(self);
    free_layout(gone->layout);
    Py_XDECREF(gone->title);
    Py_XDECREF(gone->violation);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef codec_methods[] = {
    {"decode", (PyCFunction)(void (*)(void))decode, METH_FASTCALL, PyDoc_STR("As what decoding.py compiles.")},
    {"encode", encode, METH_O, PyDoc_STR("As what encoding.py compiles.")},
    {"frame", (PyCFunction)(void (*)(void))frame, METH_FASTCALL, PyDoc_STR("As what encoding.py compiles.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot codec_slots[] = {
    {Py_tp_doc, PyDoc_STR("Codec(title, program): reads and writes one version of a message.")},
    {Py_tp_new, new_codec},
    {Py_tp_dealloc, free_codec},
    {Py_tp_methods, codec_methods},
    {0, NULL},
};

static PyType_Spec codec_spec = {
    .name = "kcompat.protocol._native.Codec",
    .basicsize = sizeof(codec),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = codec_slots,
};

static int start(PyObject *module)
{
    static const char *const schema_name = "kcompat.protocol.schema";
    const shared_number limits[] = {
        {"MAX_VALUES", &max_values}, {"MAX_UNKNOWN_TAGS", &max_unknown_tags}, {NULL, NULL},
    };
    const shared_number places[] = {
        {"FIRST_FLEXIBLE", &first_flexible}, {"FIRST_WITH_IDS", &first_with_ids}, {"HEAD_AT", &head_at},
        {"ACKS_AND_TIMEOUT", &acks_and_timeout}, {NULL, NULL},
    };
    state *known = PyModule_GetState(module);
    if (read_shared(schema_name, NULL, limits) < 0 || read_shared("kcompat.protocol.single_batch", NULL, places) < 0)
        return -1;
    PyObject *schema = PyImport_ImportModule(schema_name);
    if (schema == NULL)
        return -1;
    known->violation = PyObject_GetAttrString(schema, "ProtocolViolation");
    Py_DECREF(schema);
    if (known->violation == NULL)
        return -1;
    known->codec = (PyTypeObject *)PyType_FromModuleAndSpec(module, &codec_spec, NULL);
    return known->codec == NULL ? -1 : PyModule_AddType(module, known->codec);
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    const state *known = PyModule_GetState(module);
    Py_VISIT(known->violation);
    Py_VISIT(known->codec);
    return 0;
}

static int clear(PyObject *module)
{
    state *known = PyModule_GetState(module);
    Py_CLEAR(known->violation);
    Py_CLEAR(known->codec);
    return 0;
}

static PyMethodDef methods[] = {
    {"read_request_header", (PyCFunction)(void (*)(void))read_request_header, METH_FASTCALL,
     PyDoc_STR("As reading.read_request_header.")},
    {"find_single_batch", (PyCFunction)(void (*)(void))find_single_batch, METH_FASTCALL,
     PyDoc_STR("As single_batch.find_single_batch.")},
    {NULL, NULL, 0, NULL},
};

STATEFUL_MODULE("_native", "The native codec of all messages.")

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
