"""Python source as a syntax tree, from any thread.

CPython up to 3.11.7 and 3.12.1 keeps the depth of the tree that it is building in one place for all threads: two that
build trees at once may end in `SystemError: AST constructor recursion depth mismatch` (python/cpython#106905).
"""

import ast
from threading import Lock

_ONE_AT_A_TIME = Lock()


def tree_of(source: str | bytes, file: str = "<unknown>") -> ast.Module:
    """The syntax tree of some Python source.

    >>> [type(node).__name__ for node in tree_of("import math").body]
    ['Import']
    """
    with _ONE_AT_A_TIME:
        return ast.parse(source, file)
