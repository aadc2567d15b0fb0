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

from wanlab.version import VERSION

__version__ = VERSION


def _read_stub() -> dict[str, str]:
    """Return the module of each name that the stub beside this file exports.

    The stub is the only list of these names: type checkers and editors read it as it is.
    """
    modules = {}
    # Without pathlib: the command line should be ready for signals as soon as it can.
    with open(f"{__file__.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:  # noqa: PTH123
        lines = stub.read().splitlines()
    for line in lines:
        if line.startswith("from "):
            _, module, _, name, *_ = line.split()
            modules[name] = module
    return modules


_MODULES = _read_stub()
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    # Names are imported when they are first used: the command line must not wait for libraries that
    # it does not need.
    if name not in _MODULES:
        raise AttributeError(f"module 'wanlab' has no attribute {name!r}")
    from importlib import import_module

    module = _MODULES[name]
    if module != __name__ and hasattr(import_module(module), name):
        return getattr(import_module(module), name)
    return import_module(f"{module}.{name}")


if "IPython" in sys.modules:
    from wanlab.formatters import register_if_in_ipython

    register_if_in_ipython()
