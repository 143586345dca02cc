/* One poll of all connections of a loop: what _python.py does, in C, for the request that comes alone and is answered
 * at once with a few bytes. Everything else is left to the methods of `Connection`. See docs/internals/network.md.
 *
 * The GIL is kept: all calls are of the non-blocking kind and move little. What a call needs of the names below is
 * the only state.
 */
#include "kcompat/_module.h"
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { EVENTS_A_POLL = 256, SENDS_AT_ONCE = 8, PREFIX = 4, SMALL_ANSWER = 64 * 1024, CLOSED = 64, GRAIN = 32 };

#define NAMES(each)                                                                                                    \
    each(_gate) each(_held) each(_answers) each(_handler) each(_deadline) each(last_active) each(on_frame)             \
    each(on_readable) each(on_writable) each(_take) each(_leave_one) each(_request_failed) each(_transmit)             \
    each(scratch_view) each(read_size) each(now) each(limits) each(max_frame) each(lead)

typedef struct {
#define each(name) PyObject *name;
    NAMES(each)
#undef each
    PyObject *no_deadline;
} state;

/* An answer that leaves with others. */
typedef struct {
    PyObject *connection, *data;
    int fd;
} sending;

typedef struct {
    const state *names;
    PyObject *hub;
    Py_buffer scratch;
    PyObject *view;       /* of the scratch buffer */
    PyObject *now;
    PyObject *others;     /* the list of (send, pieces) that Python left */
    long long max_frame;
    sending sends[SENDS_AT_ONCE];
    int waiting;          /* how many of them */
} visit;

static int attribute_is_none(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    Py_XDECREF(value);
    return value == NULL ? -1 : value == Py_None;
}

static long long number(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    long long result = value == NULL ? -1 : PyLong_AsLongLong(value);
    Py_XDECREF(value);
    return result;
}

static int call(PyObject *object, PyObject *name, PyObject *argument)
{
    PyObject *result = PyObject_CallMethodObjArgs(object, name, argument, NULL);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Whether frames may be handed on and no answer waits before theirs; -1 with an exception. */
static int is_open(const visit *now, PyObject *connection)
{
    long long gate = number(connection, now->names->_gate);
    if (gate)
        return gate < 0 ? -1 : 0;
    return attribute_is_none(connection, now->names->_answers);
}

/* Send one answer; what the socket does not take is the connection's to see to. */
static int send_one(const visit *now, const sending *one)
{
    char *data;
    Py_ssize_t size;
    long long gate = number(one->connection, now->names->_gate);
    if (gate < 0 || PyBytes_AsStringAndSize(one->data, &data, &size) < 0)
        return -1;
    if (gate & CLOSED)
        return 0;
    ssize_t sent = send(one->fd, data, size, MSG_NOSIGNAL);
    if (sent == size)
        return 0;
    PyObject *rest = sent <= 0 ? Py_NewRef(one->data) : PySequence_GetSlice(one->data, sent, size);
    PyObject *pieces = rest == NULL ? NULL : PyList_New(1);
    if (pieces == NULL) {
        Py_XDECREF(rest);
        return -1;
    }
    PyList_SetItem(pieces, 0, rest);
    int result = call(one->connection, now->names->_transmit, pieces);
    Py_DECREF(pieces);
    return result;
}

/* Send what waits, also after a failure, whose exception stays. */
static int send_all(visit *now)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int result = 0;
    for (int i = 0; i < now->waiting; i++) {
        if (!result)
            result = send_one(now, &now->sends[i]);
        Py_DECREF(now->sends[i].connection);
        Py_DECREF(now->sends[i].data);
    }
    now->waiting = 0;
    for (Py_ssize_t i = 0; !result && i < PyList_Size(now->others); i++) {
        PyObject *pair = PyList_GetItem(now->others, i), *done;
        done = PyObject_CallFunctionObjArgs(PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), NULL);
        Py_XDECREF(done);
        result = done == NULL ? -1 : 0;
    }
    if (PyList_SetSlice(now->others, 0, PyList_Size(now->others), NULL) < 0)
        result = -1;
    if (type != NULL)
        PyErr_Restore(type, value, traceback);
    return result;
}

/* What a handler answered to a whole frame: queued if it is one small piece that nothing stands before. */
static int leave(visit *now, PyObject *connection, int fd, PyObject *answer)
{
    if (PyList_CheckExact(answer) && PyList_Size(answer) == 1) {
        PyObject *data = PyList_GetItem(answer, 0);
        if (PyBytes_CheckExact(data) && PyBytes_Size(data) <= SMALL_ANSWER) {
            int open = is_open(now, connection);
            if (open < 0)
                return -1;
            if (open) {
                now->sends[now->waiting++] = (sending){Py_NewRef(connection), Py_NewRef(data), fd};
                return 0;
            }
        }
    }
    return call(connection, now->names->_leave_one, answer);
}

/* An exception of the handler is the connection's to see to, unless it is meant for the whole process. */
static int fail(const visit *now, PyObject *connection)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(value, traceback);
    int result = call(connection, now->names->_request_failed, value);
    if (!result)
        result = call(connection, now->names->_leave_one, Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return result;
}

/* Serve the frame in these places of the scratch buffer. */
static int serve_frame(visit *now, PyObject *connection, int fd, Py_ssize_t start, Py_ssize_t end)
{
    const state *names = now->names;
    if (PyObject_SetAttr(connection, names->last_active, now->now) < 0
        || PyObject_SetAttr(connection, names->_deadline, names->no_deadline) < 0)
        return -1;
    PyObject *handler = PyObject_GetAttr(connection, names->_handler);
    PyObject *frame = handler == NULL ? NULL : PySequence_GetSlice(now->view, start, end);
    if (frame == NULL) {
        Py_XDECREF(handler);
        return -1;
    }
    PyObject *answer = PyObject_CallMethodObjArgs(handler, names->on_frame, connection, frame, NULL);
    Py_DECREF(frame);
    Py_DECREF(handler);
    if (answer == NULL)
        return fail(now, connection);
    int result = leave(now, connection, fd, answer);
    Py_DECREF(answer);
    return result;
}

static int serve_readable(visit *now, PyObject *connection, int fd)
{
    const state *names = now->names;
    int plain = is_open(now, connection);
    if (plain > 0)
        plain = attribute_is_none(connection, names->_held);
    if (plain <= 0)
        return plain < 0 ? -1 : call(connection, names->on_readable, NULL);
    const long long lead = number(connection, names->lead);
    const long long room = number(now->hub, names->read_size); /* less once the connections before keep too much */
    if (lead < 0 || room < 0)
        return -1;
    if (lead + room > now->scratch.len) {
        PyErr_SetString(PyExc_ValueError, "more is to be read than the scratch buffer has room for");
        return -1;
    }
    uint8_t *data = (uint8_t *)now->scratch.buf + lead;
    ssize_t received = recv(fd, data, room, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (received <= 0)
        return call(connection, names->on_readable, NULL); /* which sees the end of the stream as well */
    if (received > PREFIX) {
        int64_t length = (int64_t)data[0] << 24 | data[1] << 16 | data[2] << 8 | data[3];
        if (length == received - PREFIX && length <= now->max_frame)
            return serve_frame(now, connection, fd, lead + PREFIX, lead + received);
    }
    PyObject *count = PyLong_FromSsize_t(received);
    int result = count == NULL ? -1 : call(connection, names->_take, count);
    Py_XDECREF(count);
    return result;
}

/* Call back for one event. The connections are looked up one by one: an earlier one may have removed a later. */
static int serve_event(visit *now, const struct epoll_event *event, PyObject *readers, PyObject *writers)
{
    PyObject *key = PyLong_FromLong(event->data.fd), *found;
    int result = key == NULL ? -1 : 0;
    if (!result && event->events & ~EPOLLOUT) {
        found = Py_XNewRef(PyDict_GetItemWithError(readers, key));
        if (found != NULL)
            result = serve_readable(now, found, event->data.fd);
        else if (PyErr_Occurred())
            result = -1;
        Py_XDECREF(found);
    }
    if (!result && event->events & ~EPOLLIN) {
        found = Py_XNewRef(PyDict_GetItemWithError(writers, key));
        if (found != NULL)
            result = call(found, now->names->on_writable, NULL);
        else if (PyErr_Occurred())
            result = -1;
        Py_XDECREF(found);
    }
    Py_XDECREF(key);
    return result;
}

/* Fill in what the hub has; 0 or -1. Whatever was filled in is to be released in either case. */
static int open_visit(visit *now)
{
    const state *names = now->names;
    PyObject *limits = PyObject_GetAttr(now->hub, names->limits);
    now->max_frame = limits == NULL ? -1 : number(limits, names->max_frame);
    Py_XDECREF(limits);
    now->now = PyObject_GetAttr(now->hub, names->now);
    now->view = PyObject_GetAttr(now->hub, names->scratch_view);
    if (PyErr_Occurred() || PyObject_GetBuffer(now->view, &now->scratch, PyBUF_WRITABLE) < 0)
        return -1;
    return 0;
}

static PyObject *serve(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    struct epoll_event events[EVENTS_A_POLL];
    visit now = {.names = PyModule_GetState(module)};
    if (given != 5 || !PyDict_Check(args[2]) || !PyDict_Check(args[3]) || !PyList_Check(args[4])) {
        PyErr_SetString(PyExc_TypeError, "serve(hub, epoll, readers, writers, sends)");
        return NULL;
    }
    int epoll = PyObject_AsFileDescriptor(args[1]);
    int ready = epoll < 0 ? -1 : epoll_wait(epoll, events, EVENTS_A_POLL, 0);
    if (epoll < 0)
        return NULL;
    if (ready < 0 && errno != EINTR)
        return PyErr_SetFromErrno(PyExc_OSError);
    now.hub = args[0];
    now.others = args[4];
    int result = ready > 0 ? open_visit(&now) : 0;
    for (int i = 0; !result && i < ready; i++) {
        result = serve_event(&now, &events[i], args[2], args[3]);
        if (!result && now.waiting + PyList_Size(now.others) >= SENDS_AT_ONCE)
            result = send_all(&now);
    }
    if (send_all(&now) < 0)
        result = -1;
    Py_XDECREF(now.view);
    Py_XDECREF(now.now);
    if (now.scratch.obj != NULL)
        PyBuffer_Release(&now.scratch);
    return result < 0 ? NULL : PyLong_FromLong(ready < 0 ? 0 : ready);
}

/* How much further on data should be, to be written quickly: see placing.py. */
static PyObject *misfit(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    Py_buffer data;
    (void)module;
    if (given != 2) {
        PyErr_SetString(PyExc_TypeError, "misfit(data, position)");
        return NULL;
    }
    const long long position = PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred() || PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    const uintptr_t address = (uintptr_t)data.buf;
    PyBuffer_Release(&data);
    return PyLong_FromLong((long)(((uintptr_t)position - address) % GRAIN));
}

static int start(PyObject *module)
{
    state *names = PyModule_GetState(module);
#define each(name)                                                                                                     \
    if ((names->name = PyUnicode_InternFromString(#name)) == NULL)                                                     \
        return -1;
    NAMES(each)
#undef each
    names->no_deadline = PyFloat_FromDouble(0.0);
    return names->no_deadline == NULL ? -1 : 0;
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

static PyMethodDef methods[] = {
    {"serve", (PyCFunction)(void (*)(void))serve, METH_FASTCALL, PyDoc_STR("As _python.serve.")},
    {"misfit", (PyCFunction)(void (*)(void))misfit, METH_FASTCALL, PyDoc_STR("As _python.misfit.")},
    {NULL, NULL, 0, NULL},
};

STATEFUL_MODULE("_native", "One poll of all connections of a loop.")

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
