"""Lets compiled code run as Python, with other constants."""


def in_python(monkeypatch, module, names, **constants):
    """Let a module work with other constants, which compiled code would not see."""
    for name in names:
        kernel = getattr(module, name)
        monkeypatch.setattr(module, name, getattr(kernel, "py_func", kernel))
    for name, value in constants.items():
        monkeypatch.setattr(module, name, value)
