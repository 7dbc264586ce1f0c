#!/usr/bin/env python3
"""Lists circles of modules in each crate, found from the `use` lines. Exits with 1 if there are any.

A module depends on the modules whose items it imports. A re-export (`pub use`) is followed to the module that defines the
item, and is not a dependency itself. Tests do not count.
"""

import pathlib
import re
import sys
from graphlib import CycleError, TopologicalSorter

CRATES = ["vocabulary", "hosts", "imagelib", "redfish", "media", "doctor", "server"]


def modules(source):
    found = {}
    for file in source.rglob("*.rs"):
        path = list(file.relative_to(source).with_suffix("").parts)
        if path[-1] in ("mod", "lib", "main"):
            path.pop()
        if "tests" not in path:
            found[("crate", *path)] = file.read_text().split("#[cfg(test)]\nmod tests")[0]
    return found


def names(tree, prefix=""):
    """The paths in a tree such as `a::{b, c::{d, e}}`."""
    depth, start = 0, 0
    for at, character in enumerate(tree + ","):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            head, brace, rest = tree[start:at].strip().partition("{")
            yield from names(rest.rsplit("}", 1)[0], prefix + head) if brace else [prefix + head] if head else []
            start = at + 1


def imports(text):
    """Each import: whether it is public, the path, and the name that it brings."""
    for public, tree in re.findall(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", text, re.M):
        for name in names(tree):
            path, _, alias = (part.strip() for part in name.partition(" as "))
            yield bool(public), path, alias or path.rsplit("::", 1)[-1]


def definition(found, module, path, depth=0):
    """The module that defines what `path` names in `module`. None for another crate."""
    first, *rest = path.split("::")
    full = list(module)
    if first == "crate":
        full = ["crate"]
    elif first == "super":
        full.pop()
        while rest and rest[0] == "super":
            full.pop()
            rest.pop(0)
    elif (*module, first) in found:
        full.append(first)
    elif first != "self":
        return None
    full += rest
    owner = next(tuple(full[:end]) for end in range(len(full), 0, -1) if tuple(full[:end]) in found)
    item = full[len(owner)] if len(full) > len(owner) else None
    for _, inner, alias in imports(found[owner]) if depth < 8 else []:
        if alias == item and (owner, inner) != (module, path):
            return definition(found, owner, inner, depth + 1) or owner
    return owner


failed = False
for crate in CRATES:
    found = modules(pathlib.Path(__file__).parent.parent / crate / "src")
    used = {
        module: {definition(found, module, path) for public, path, _ in imports(text) if not public} - {None, module}
        for module, text in found.items()
    }
    try:
        TopologicalSorter(used).prepare()
    except CycleError as error:
        failed = True
        print(f"{crate}: " + " uses ".join("::".join(module) for module in reversed(error.args[1])))
sys.exit(failed)
