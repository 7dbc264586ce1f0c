# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

"""The options of what goes into an image, and the request that they make."""

from __future__ import annotations

import typing as t

FORMATS = ["iso", "minimal-iso", "usb", "initrd", "data"]
INSTALLERS = ["preseed", "kickstart", "autoinstall", "agama"]

# Options that are members of a request under the same name.
MEMBERS = [
    "base",
    "format",
    "documents",
    "nmstate",
    "host",
    "hostname",
    "ssh_authorized_keys",
    "kernel_arguments",
    "boot_entries",
    "profile",
    "rootfs_url",
    "replace_embedded",
    "auto_default",
    "ignition",
    "answers",
    "files",
]

MUTUALLY_EXCLUSIVE = [("documents", "document_files", "nmstate")]


def argument_spec() -> dict[str, t.Any]:
    """Returns the options. Everything that may hold a password is not logged, if the module is a C(quiet.Module)."""
    texts = {"type": "list", "elements": "str"}
    return {
        "base": {"type": "str"},
        "format": {"type": "str", "choices": FORMATS},
        "documents": {"type": "str", "no_log": False},
        "document_files": {
            "type": "list",
            "elements": "dict",
            "options": {
                "name": {"type": "str", "required": True},
                "text": {"type": "str", "required": True, "no_log": True},
            },
        },
        "nmstate": {"type": "dict", "no_log": False},
        "host": {"type": "str"},
        "hostname": {"type": "str"},
        "ssh_authorized_keys": {"type": "list", "elements": "str", "no_log": False},
        "kernel_arguments": {"type": "dict", "options": {"append": texts, "delete": texts, "replace": texts}},
        "boot_entries": texts,
        "profile": {"type": "str"},
        "rootfs_url": {"type": "str"},
        "replace_embedded": {"type": "bool"},
        "auto_default": {"type": "bool"},
        "ignition": {"type": "dict", "no_log": False},
        "answers": {
            "type": "dict",
            "options": {
                "kind": {"type": "str", "required": True, "choices": INSTALLERS},
                "text": {"type": "str", "required": True, "no_log": True},
            },
        },
        "files": {
            "type": "list",
            "elements": "dict",
            "options": {
                "path": {"type": "str", "required": True},
                "contents": {"type": "str", "required": True, "no_log": True},
                "mode": {"type": "str"},
                "user": {"type": "int"},
                "group": {"type": "int"},
            },
        },
    }


def request(parameters: dict[str, t.Any], more: t.Iterable[str] = ()) -> dict[str, t.Any]:
    """Returns the request that the options make, with the members of C(more) as well."""
    members = {name: _without_none(parameters[name]) for name in [*MEMBERS, *more] if parameters[name] is not None}
    if parameters["document_files"] is not None:
        members["documents"] = parameters["document_files"]
    return members


def _without_none(value: t.Any) -> t.Any:
    """Options of options that were not given are no members."""
    if isinstance(value, list):
        return [_without_none(element) for element in value]
    if isinstance(value, dict):
        return {key: member for key, member in value.items() if member is not None}
    return value
