"""wanlab: a network laboratory with its own Linux kernel and its own clock.

    from wanlab import Network, shapes

    with Network(shapes.dumbbell(pairs=2, rate="10Mbps", delay="20ms"), seed=1) as net:
        server = net["h3"].start("iperf3 -s")
        print(net["h1"].run("iperf3 -c h3 -t 10").output)

The names that most programs need can be imported from here; `__init__.pyi` lists them by topic. The
rest of the public API is in the public submodules: `wanlab.topology`, `wanlab.network`,
`wanlab.measure`, `wanlab.record`, `wanlab.plot`, `wanlab.experiments`, `wanlab.errors`.
"""

import sys

# Nothing else is imported or read here: the command line, which is loaded after this file, should be
# ready for Ctrl-C as soon as it can.
_modules: dict[str, str] = {}


def _exported() -> dict[str, str]:
    """Return the module of each name that the stub beside this file exports.

    The stub is the only list of these names: type checkers and editors read it as it is.
    """
    if not _modules:
        from pathlib import Path

        stub = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
        for line in stub.splitlines():
            if line.startswith("from "):
                _, module, _, name, *_ = line.split()
                _modules[name] = module
    return _modules


def __getattr__(name: str) -> object:
    # Names are imported when they are first used: the command line must not wait for libraries that
    # it does not need.
    if name == "__version__":
        from wanlab.version import VERSION

        return VERSION
    if name == "__all__":
        return sorted(_exported())
    # Python asks for such names while it imports submodules.
    if name.startswith("__") or name not in _exported():
        raise AttributeError(f"module 'wanlab' has no attribute {name!r}")
    from importlib import import_module

    module = _exported()[name]
    if module != __name__ and hasattr(import_module(module), name):
        return getattr(import_module(module), name)
    return import_module(f"{module}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_exported(), "__all__", "__version__"})


if "IPython" in sys.modules:
    from wanlab.formatters import register_if_in_ipython

    register_if_in_ipython()
