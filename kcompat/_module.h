/* What every extension begins and ends with: what it shares with Python, and what it says of itself.
 *
 * None says that it does without the GIL: nobody has run one on a Python that has none.
 */
#ifndef KCOMPAT_MODULE_H
#define KCOMPAT_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>

/* A number of Python's, by its name there, and where it is kept here. */
typedef struct {
    const char *name;
    int *value;
} shared_number;

/* Read numbers of a module, or of a class in a module, as they are when an extension is loaded: what both sides have to
 * agree on is written down in Python alone. `cls` may be NULL; the names end with a NULL. 0, or -1 with an exception.
 */
static inline int read_shared(const char *module, const char *cls, const shared_number *numbers)
{
    PyObject *from = PyImport_ImportModule(module);
    if (from != NULL && cls != NULL) {
        PyObject *inner = PyObject_GetAttrString(from, cls);
        Py_DECREF(from);
        from = inner;
    }
    if (from == NULL)
        return -1;
    for (; numbers->name != NULL; numbers++) {
        PyObject *number = PyObject_GetAttrString(from, numbers->name);
        if (number == NULL)
            break;
        long value = PyLong_AsLong(number);
        Py_DECREF(number);
        if (value == -1 && PyErr_Occurred())
            break;
        if (value < INT_MIN || value > INT_MAX) {
            PyErr_Format(PyExc_OverflowError, "%s.%s does not fit", module, numbers->name);
            break;
        }
        *numbers->value = (int)value;
    }
    Py_DECREF(from);
    return numbers->name == NULL ? 0 : -1;
}

/* A module of nothing but its `methods`, and of what `start` reads when it is loaded. */
#define PLAIN_MODULE(name, text)                                                                                      \
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, start}, {0, NULL}};                                              \
    static PyModuleDef definition = {                                                                                 \
        PyModuleDef_HEAD_INIT, .m_name = name, .m_doc = PyDoc_STR(text), .m_methods = methods, .m_slots = slots,      \
    };

/* The same with a `state` that `start` fills in, for `traverse` and `clear` to know. */
#define STATEFUL_MODULE(name, text)                                                                                   \
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, start}, {0, NULL}};                                              \
    static PyModuleDef definition = {                                                                                 \
        PyModuleDef_HEAD_INIT, .m_name = name, .m_doc = PyDoc_STR(text), .m_methods = methods, .m_slots = slots,      \
        .m_size = sizeof(state), .m_traverse = traverse, .m_clear = clear,                                            \
    };

#endif
