/* What the native poll knows of the Python modules: the names of their attributes, and the numbers it shares with them.
 * It is read when the module is imported.
 */
#ifndef KCOMPAT_NET_STATE_H
#define KCOMPAT_NET_STATE_H

#include "kcompat/_module.h"

/* The attributes of hubs, limits, handlers and connections that the poll reads, writes and calls. */
#define NAMES(each)                                                                                                    \
    each(_gate) each(_held) each(_answers) each(_handler) each(_deadline) each(last_active) each(lead)                 \
    each(on_frame) each(on_readable) each(on_writable) each(received) each(answered) each(request_failed)              \
    each(transmit) each(scratch_view) each(read_size) each(now) each(limits) each(max_frame)

typedef struct {
#define each(name) PyObject *name;
    NAMES(each)
#undef each
    PyObject *no_deadline;
    int closed;          /* gate.CLOSED; the others are of sizes.py */
    int grain, prefix, join_limit, events_a_poll, sends_at_once;
} state;

static int read_names(state *names)
{
#define each(name)                                                                                                     \
    if ((names->name = PyUnicode_InternFromString(#name)) == NULL)                                                     \
        return -1;
    NAMES(each)
#undef each
    names->no_deadline = PyFloat_FromDouble(0.0);
    return names->no_deadline == NULL ? -1 : 0;
}

/* Give the module NAMES, for a test to compare with the classes. */
static int add_names(PyObject *module, const state *names)
{
    PyObject *all = PyTuple_Pack(0
#define each(name) +1
                                     NAMES(each)
#undef each
#define each(name) , names->name
                                         NAMES(each)
#undef each
    );
    if (all == NULL)
        return -1;
    const int result = PyModule_AddObjectRef(module, "NAMES", all);
    Py_DECREF(all);
    return result;
}

static int read_numbers(state *numbers)
{
    const shared_number gate[] = {{"CLOSED", &numbers->closed}, {NULL, NULL}};
    const shared_number sizes[] = {
        {"GRAIN", &numbers->grain},
        {"PREFIX", &numbers->prefix},
        {"JOIN_LIMIT", &numbers->join_limit},
        {"EVENTS_A_POLL", &numbers->events_a_poll},
        {"SENDS_AT_ONCE", &numbers->sends_at_once},
        {NULL, NULL},
    };
    return read_shared("kcompat.net.gate", NULL, gate) < 0 ? -1 : read_shared("kcompat.net.sizes", NULL, sizes);
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    const state *names = PyModule_GetState(module);
#define each(name) Py_VISIT(names->name);
    NAMES(each)
#undef each
    Py_VISIT(names->no_deadline);
    return 0;
}

static int clear(PyObject *module)
{
    state *names = PyModule_GetState(module);
#define each(name) Py_CLEAR(names->name);
    NAMES(each)
#undef each
    Py_CLEAR(names->no_deadline);
    return 0;
}

#endif
