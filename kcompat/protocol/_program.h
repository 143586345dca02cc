/* What the native codec runs: one version of a message as a tree of structs and fields, made once of the tuples that
 * compiling.py writes, and only read afterwards. The tree is as deep as the declaration nests, which is not much.
 */
#ifndef KCOMPAT_PROTOCOL_PROGRAM_H
#define KCOMPAT_PROTOCOL_PROGRAM_H

#include "kcompat/_module.h"
#include <stdint.h>
#include <string.h>

enum kind { BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID, STRING, BYTES, RECORDS, STRUCT, KINDS };

/* Kafka's names of the kinds, and the bytes of those that have one size. */
static const struct {
    const char *name;
    Py_ssize_t size;
} kinds[KINDS] = {
    [BOOL] = {"bool", 1},       [INT8] = {"int8", 1},       [INT16] = {"int16", 2},     [UINT16] = {"uint16", 2},
    [INT32] = {"int32", 4},     [UINT32] = {"uint32", 4},   [INT64] = {"int64", 8},     [FLOAT64] = {"float64", 8},
    [UUID] = {"uuid", 16},      [STRING] = {"string", 0},   [BYTES] = {"bytes", 0},     [RECORDS] = {"records", 0},
    [STRUCT] = {"struct", 0},
};

_Static_assert(sizeof(double) == 8 && sizeof(long long) == 8, "numbers of the wire are read into these");

struct layout;

typedef struct {
    PyObject *name;          /* interned */
    PyObject *member;        /* the descriptor of the attribute, and what reads with it: faster than to look it up */
    descrgetfunc get;
    PyObject *initial;       /* the default */
    PyObject *fresh;         /* what makes a default of its own for each message, or NULL */
    struct layout *element;  /* of a struct, or of the elements of an array of structs; else NULL */
    long long element_size;  /* the fewest bytes of an element of the array */
    enum kind kind;
    int tag;                 /* -1 outside the tag section */
    int array, present, nullable, compact, ignorable;
    int empty;               /* the default is a false one: "", b"", [] or False */
} field;

typedef struct layout {
    PyTypeObject *cls;
    int flexible;
    Py_ssize_t count;        /* of all fields, in declared order, which is that of the constructor */
    Py_ssize_t used;         /* of fields up to the last one present: the constructor knows the defaults of the rest */
    Py_ssize_t tags;
    field **tagged;          /* those of the tag section, by tag */
    field fields[];
} layout;

static void free_layout(layout *of)
{
    if (of == NULL)
        return;
    for (Py_ssize_t i = 0; i < of->count; i++) {
        field *f = of->fields + i;
        Py_XDECREF(f->name);
        Py_XDECREF(f->member);
        Py_XDECREF(f->initial);
        Py_XDECREF(f->fresh);
        free_layout(f->element);
    }
    Py_XDECREF((PyObject *)of->cls);
    PyMem_Free(of->tagged);
    PyMem_Free(of);
}

static layout *make_layout(PyObject *from, int in_tag);

static int find_kind(const char *name, enum kind *out)
{
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i].name, name)) {
            *out = (enum kind)i;
            return 1;
        }
    PyErr_Format(PyExc_ValueError, "no kind %s", name);
    return 0;
}

/* One field of a tuple; on failure an exception is set, and what is there already is freed with the layout. */
static int make_field(field *f, PyTypeObject *cls, PyObject *from, int in_tag)
{
    const char *kind;
    PyObject *name, *element, *initial, *fresh;
    if (!PyArg_ParseTuple(from, "UspOLpppipOpO", &name, &kind, &f->array, &element, &f->element_size, &f->present,
                          &f->nullable, &f->compact, &f->tag, &f->ignorable, &initial, &f->empty,
                          &fresh)
        || !find_kind(kind, &f->kind))
        return 0;
    f->name = Py_NewRef(name);
    PyUnicode_InternInPlace(&f->name);
    f->initial = Py_NewRef(initial);
    f->fresh = fresh == Py_None ? NULL : Py_NewRef(fresh);
    f->member = PyObject_GetAttr((PyObject *)cls, f->name);
    if (f->member == NULL)
        return 0;
    f->get = (descrgetfunc)PyType_GetSlot(Py_TYPE(f->member), Py_tp_descr_get);
    in_tag |= f->tag >= 0;
    if (f->get == NULL || (f->kind == RECORDS && (in_tag || f->array))) {
        PyErr_Format(PyExc_ValueError, "%U cannot be a field", f->name);
        return 0;
    }
    if (f->kind != STRUCT || !f->present)
        return 1;
    f->element = make_layout(element, in_tag);
    return f->element != NULL;
}

/* What compiling.py made of a StructPlan; NULL with an exception. `in_tag`: it is part of a tagged field. */
static layout *make_layout(PyObject *from, int in_tag)
{
    PyObject *cls, *fields, *tagged;
    int flexible;
    if (!PyArg_ParseTuple(from, "OpO!O!", &cls, &flexible, &PyTuple_Type, &fields, &PyTuple_Type, &tagged))
        return NULL;
    if (!PyType_Check(cls)) {
        PyErr_SetString(PyExc_TypeError, "a struct has a class");
        return NULL;
    }
    const Py_ssize_t count = PyTuple_Size(fields), tags = PyTuple_Size(tagged);
    layout *made = PyMem_Calloc(1, sizeof(layout) + (size_t)count * sizeof(field));
    if (made == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    made->tagged = PyMem_Calloc((size_t)tags + 1, sizeof(field *));
    if (made->tagged == NULL) {
        PyMem_Free(made);
        PyErr_NoMemory();
        return NULL;
    }
    made->cls = (PyTypeObject *)Py_NewRef(cls);
    made->flexible = flexible;
    for (; made->count < count; made->count++) {
        field *f = made->fields + made->count;
        if (!make_field(f, made->cls, PyTuple_GetItem(fields, made->count), in_tag))
            break;
        if (f->present)
            made->used = made->count + 1;
    }
    int failed = made->count < count;
    made->count += failed; /* what there is of the field that failed is freed with the rest */
    for (; !failed && made->tags < tags; made->tags++) {
        Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GetItem(tagged, made->tags));
        failed = index < 0 || index >= count;
        if (!failed)
            made->tagged[made->tags] = made->fields + index;
        else if (!PyErr_Occurred())
            PyErr_SetString(PyExc_IndexError, "no such field");
    }
    if (!failed)
        return made;
    free_layout(made);
    return NULL;
}

#endif
