"""One parser under a fuzzer that is guided by coverage.

    python -m tests.fuzzing.target NAME PROGRAM ...

libFuzzer runs the program to do the same in another process; what follows are its arguments.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["pyhudi_expr"]):
    from tests.fuzzing.parsers import tried

if __name__ == "__main__":
    _, name, *arguments = sys.argv
    atheris.Setup(arguments, lambda content: tried(name, content))
    atheris.Fuzz()
