/* What every extension says of itself: any interpreter may load it, and it needs no GIL, as calls share no state that
 * changes.
 */
#ifndef KCOMPAT_MODULE_H
#define KCOMPAT_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_mod_multiple_interpreters
#define INTERPRETERS_SLOT {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#else
#define INTERPRETERS_SLOT
#endif
#ifdef Py_mod_gil
#define GIL_SLOT {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define GIL_SLOT
#endif

/* The last slots of a module. */
#define COMMON_SLOTS INTERPRETERS_SLOT GIL_SLOT {0, NULL}

/* A module of nothing but its `methods`: the slots and the definition that its PyInit hands on. */
#define PLAIN_MODULE(name, text)                                                                                    \
    static PyModuleDef_Slot slots[] = {COMMON_SLOTS};                                                               \
    static PyModuleDef definition = {                                                                               \
        PyModuleDef_HEAD_INIT, .m_name = name, .m_doc = PyDoc_STR(text), .m_methods = methods, .m_slots = slots,    \
    };

/* The same with a `state` that `start` fills in, for `traverse` and `clear` to know. */
#define STATEFUL_MODULE(name, text)                                                                                   \
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, start}, COMMON_SLOTS};                                           \
    static PyModuleDef definition = {                                                                                 \
        PyModuleDef_HEAD_INIT, .m_name = name, .m_doc = PyDoc_STR(text), .m_methods = methods, .m_slots = slots,      \
        .m_size = sizeof(state), .m_traverse = traverse, .m_clear = clear,                                            \
    };

#endif
