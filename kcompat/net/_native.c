/* One poll of all connections of a loop: what _python.py does, in C, for the request that comes alone and is answered
 * at once with a few bytes. Everything else is left to the methods of the connections. See docs/internals/network.md.
 *
 * The poll is Linux's, for it asks epoll; where data lies is found out anywhere.
 *
 * The GIL is kept: all calls are of the non-blocking kind and move little. The only state is that of _state.h.
 */
#include "kcompat/net/_state.h"
#include <stdint.h>

/* How much further on data should be, to be written quickly: see placing.py. */
static PyObject *misfit(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    const state *numbers = PyModule_GetState(module);
    Py_buffer data;
    if (given != 2) {
        PyErr_SetString(PyExc_TypeError, "misfit(data, position)");
        return NULL;
    }
    const long long position = PyLong_AsLongLong(args[1]);
    if (position == -1 && PyErr_Occurred())
        return NULL;
    if (PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    const uintptr_t distance = (uintptr_t)position - (uintptr_t)data.buf;
    PyBuffer_Release(&data);
    return PyLong_FromLong((long)(distance % (uintptr_t)numbers->grain));
}

#ifdef __linux__

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
    PREFIX = 4,        /* sizes.PREFIX, as `announced` reads it */
    MOST_EVENTS = 256, /* sizes.EVENTS_A_POLL and SENDS_AT_ONCE may be that much */
    MOST_SENDS = 64,
};

_Static_assert(sizeof(Py_ssize_t) == sizeof(ssize_t), "sizes of buffers are given to recv and send");
_Static_assert(sizeof(((struct epoll_event *)0)->data.fd) == sizeof(int), "the poller registers descriptors");

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
    sending *sends;       /* room for MOST_SENDS */
    int waiting;          /* how many there are */
} one_poll;

static int attribute_is_none(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    Py_XDECREF(value);
    return value == NULL ? -1 : value == Py_None;
}

/* A number that is never negative; -1 with an exception. */
static long long number(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    if (value == NULL)
        return -1;
    const long long result = PyLong_AsLongLong(value);
    Py_DECREF(value);
    if (result < 0 && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%U is negative", name);
    return result;
}

static int call(PyObject *object, PyObject *name, PyObject *argument)
{
    PyObject *result = PyObject_CallMethodObjArgs(object, name, argument, NULL);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Whether frames may be handed on and no answer waits before theirs; -1 with an exception. */
static int is_open(const one_poll *now, PyObject *connection)
{
    const long long gate = number(connection, now->names->_gate);
    if (gate)
        return gate < 0 ? -1 : 0;
    return attribute_is_none(connection, now->names->_answers);
}

/* Send one answer; what the socket does not take is the connection's to see to. */
static int send_one(const one_poll *now, const sending *one)
{
    char *data;
    Py_ssize_t size;
    const long long gate = number(one->connection, now->names->_gate);
    if (gate < 0)
        return -1;
    if (gate & now->names->closed)
        return 0;
    if (PyBytes_AsStringAndSize(one->data, &data, &size) < 0)
        return -1;
    const ssize_t sent = send(one->fd, data, (size_t)size, MSG_NOSIGNAL);
    if (sent == size)
        return 0;
    PyObject *rest = sent <= 0 ? Py_NewRef(one->data) : PySequence_GetSlice(one->data, sent, size);
    if (rest == NULL)
        return -1;
    PyObject *pieces = PyList_New(1);
    if (pieces == NULL || PyList_SetItem(pieces, 0, rest) < 0) { /* which takes the reference in either case */
        if (pieces == NULL)
            Py_DECREF(rest);
        Py_XDECREF(pieces);
        return -1;
    }
    const int result = call(one->connection, now->names->transmit, pieces);
    Py_DECREF(pieces);
    return result;
}

/* Call one (send, pieces) that Python left. */
static int send_other(PyObject *pair)
{
    PyObject *send_pieces = PyTuple_GetItem(pair, 0);
    if (send_pieces == NULL)
        return -1;
    PyObject *pieces = PyTuple_GetItem(pair, 1);
    if (pieces == NULL)
        return -1;
    PyObject *done = PyObject_CallFunctionObjArgs(send_pieces, pieces, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Send what waits, also after a failure, whose exception stays. */
static int send_all(one_poll *now)
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
        PyObject *pair = Py_XNewRef(PyList_GetItem(now->others, i));
        result = pair == NULL ? -1 : send_other(pair);
        Py_XDECREF(pair);
    }
    if (PyList_Size(now->others) && PyList_SetSlice(now->others, 0, PyList_Size(now->others), NULL) < 0)
        result = -1;
    if (type != NULL)
        PyErr_Restore(type, value, traceback);
    return result;
}

/* What a handler answered to a whole frame: queued if it is one small piece that nothing stands before. */
static int leave(one_poll *now, PyObject *connection, int fd, PyObject *answer)
{
    if (PyList_CheckExact(answer) && PyList_Size(answer) == 1) {
        PyObject *data = PyList_GetItem(answer, 0);
        if (PyBytes_CheckExact(data) && PyBytes_Size(data) <= now->names->join_limit) {
            const int open = is_open(now, connection);
            if (open < 0)
                return -1;
            if (open) {
                now->sends[now->waiting++] = (sending){Py_NewRef(connection), Py_NewRef(data), fd};
                return 0;
            }
        }
    }
    return call(connection, now->names->answered, answer);
}

/* An exception of the handler is the connection's to see to, unless it is meant for the whole process. */
static int fail(const one_poll *now, PyObject *connection)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(value, traceback);
    int result = call(connection, now->names->request_failed, value);
    if (!result)
        result = call(connection, now->names->answered, Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return result;
}

/* Serve the frame in these places of the scratch buffer. */
static int serve_frame(one_poll *now, PyObject *connection, int fd, Py_ssize_t start, Py_ssize_t end)
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

/* The length that the first four bytes of a frame announce; negative is possible, and no frame has it. */
static int32_t announced(const uint8_t *data)
{
    return (int32_t)((uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | (uint32_t)data[3]);
}

static int serve_readable(one_poll *now, PyObject *connection, int fd)
{
    const state *names = now->names;
    int plain = is_open(now, connection);
    if (plain > 0)
        plain = attribute_is_none(connection, names->_held);
    if (plain <= 0)
        return plain < 0 ? -1 : call(connection, names->on_readable, NULL);
    const long long lead = number(connection, names->lead);
    if (lead < 0)
        return -1;
    const long long room = number(now->hub, names->read_size); /* less once the connections before keep too much */
    if (room < 0)
        return -1;
    if (lead > now->scratch.len || room > now->scratch.len - lead) {
        PyErr_SetString(PyExc_ValueError, "more is to be read than the scratch buffer has room for");
        return -1;
    }
    uint8_t *data = (uint8_t *)now->scratch.buf + lead;
    const ssize_t received = recv(fd, data, (size_t)room, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (received <= 0)
        return call(connection, names->on_readable, NULL); /* which sees the end of the stream as well */
    if (received > PREFIX) {
        const int32_t length = announced(data);
        if (length == received - PREFIX && length <= now->max_frame)
            return serve_frame(now, connection, fd, (Py_ssize_t)lead + PREFIX, (Py_ssize_t)lead + received);
    }
    PyObject *count = PyLong_FromSsize_t(received);
    if (count == NULL)
        return -1;
    const int result = call(connection, names->received, count);
    Py_DECREF(count);
    return result;
}

/* Call what is watched in place of a connection whose bytes are not its frames. */
static int call_reader(PyObject *reader)
{
    PyObject *result = PyObject_CallNoArgs(reader);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Call back for one event. The connections are looked up one by one: an earlier one may have removed a later. */
static int serve_event(one_poll *now, const struct epoll_event *event, PyObject *readers, PyObject *writers)
{
    PyObject *found, *key = PyLong_FromLong(event->data.fd);
    int result = 0;
    if (key == NULL)
        return -1;
    if (event->events & ~(uint32_t)EPOLLOUT) {
        found = Py_XNewRef(PyDict_GetItemWithError(readers, key));
        if (found != NULL)
            result = PyCallable_Check(found) ? call_reader(found) : serve_readable(now, found, event->data.fd);
        else if (PyErr_Occurred())
            result = -1;
        Py_XDECREF(found);
    }
    if (!result && event->events & ~(uint32_t)EPOLLIN) {
        found = Py_XNewRef(PyDict_GetItemWithError(writers, key));
        if (found != NULL)
            result = call(found, now->names->on_writable, NULL);
        else if (PyErr_Occurred())
            result = -1;
        Py_XDECREF(found);
    }
    Py_DECREF(key);
    return result;
}

/* Fill in what the hub has; 0 or -1. Whatever was filled in is to be released in either case. */
static int open_poll(one_poll *now)
{
    const state *names = now->names;
    PyObject *limits = PyObject_GetAttr(now->hub, names->limits);
    if (limits == NULL)
        return -1;
    now->max_frame = number(limits, names->max_frame);
    Py_DECREF(limits);
    if (now->max_frame < 0)
        return -1;
    now->now = PyObject_GetAttr(now->hub, names->now);
    if (now->now == NULL)
        return -1;
    now->view = PyObject_GetAttr(now->hub, names->scratch_view);
    if (now->view == NULL)
        return -1;
    return PyObject_GetBuffer(now->view, &now->scratch, PyBUF_WRITABLE);
}

static PyObject *serve(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    struct epoll_event events[MOST_EVENTS];
    sending sends[MOST_SENDS];
    one_poll now = {.names = PyModule_GetState(module), .sends = sends};
    if (given != 5 || !PyDict_Check(args[2]) || !PyDict_Check(args[3]) || !PyList_Check(args[4])) {
        PyErr_SetString(PyExc_TypeError, "serve(hub, epoll, readers, writers, sends)");
        return NULL;
    }
    const int epoll = PyObject_AsFileDescriptor(args[1]);
    if (epoll < 0)
        return NULL;
    const int ready = epoll_wait(epoll, events, now.names->events_a_poll, 0);
    if (ready < 0 && errno != EINTR)
        return PyErr_SetFromErrno(PyExc_OSError);
    now.hub = args[0];
    now.others = args[4];
    int result = ready > 0 ? open_poll(&now) : 0;
    for (int i = 0; !result && i < ready; i++) {
        result = serve_event(&now, &events[i], args[2], args[3]);
        if (!result && now.waiting + PyList_Size(now.others) >= now.names->sends_at_once)
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

/* Whether the numbers of sizes.py are such as the poll is made for. */
static int fits(const state *numbers)
{
    return numbers->prefix == PREFIX && numbers->events_a_poll > 0 && numbers->events_a_poll <= MOST_EVENTS
        && numbers->sends_at_once > 0 && numbers->sends_at_once <= MOST_SENDS;
}

#else

static int fits(const state *numbers)
{
    return numbers->grain > 0;
}

#endif

static int start(PyObject *module)
{
    state *shared = PyModule_GetState(module);
    if (read_names(shared) < 0 || add_names(module, shared) < 0 || read_numbers(shared) < 0)
        return -1;
    if (fits(shared))
        return 0;
    PyErr_SetString(PyExc_ImportError, "the native poll was not made for these numbers of kcompat.net.sizes");
    return -1;
}

static PyMethodDef methods[] = {
#ifdef __linux__
    {"serve", (PyCFunction)(void (*)(void))serve, METH_FASTCALL, PyDoc_STR("As _python.serve.")},
#endif
    {"misfit", (PyCFunction)(void (*)(void))misfit, METH_FASTCALL, PyDoc_STR("As _python.misfit.")},
    {NULL, NULL, 0, NULL},
};

STATEFUL_MODULE("_native", "One poll of all connections of a loop, and where data lies.")

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
