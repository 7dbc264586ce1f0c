# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

"""A module that does not show what its options hold."""

from __future__ import annotations

import json
import re
import typing as t
from contextlib import suppress

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.validation import check_type_dict

# Options with structures that may hold passwords. With no_log, Ansible would censor each of their values wherever it occurs, such as
# the digits of a prefix length in the id and in the URL of an image. If a structure has the wrong form, such as a misspelt member,
# Ansible does not know which of its values are secret.
HIDDEN = ["answers", "bmc", "data", "document_files", "documents", "files", "ignition", "nmstate"]

PLACEHOLDER = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"


class Module(AnsibleModule):
    """A module that logs no documents, neither in its result nor in the log of the host that it runs on."""

    # The options as the task gives them, before Ansible has made dictionaries and lists of texts.
    _given: dict[str, t.Any] = {}
    # Until Ansible has validated the options, its messages may quote them.
    _validated = False

    def __init__(self, **kwargs: t.Any) -> None:
        super().__init__(**kwargs)
        self._validated = True

    def _load_params(self) -> None:
        super()._load_params()
        # Before ansible-core 2.19, a template that results in JSON, such as the content of a file, is a dictionary or a list. Where an option
        # is a text, Ansible would then make a text of it in Python's notation.
        given = [name for name in HIDDEN if name in self.params and name in self.argument_spec]
        self.params.update({name: _with_json(self.params[name], self.argument_spec[name]) for name in given})
        # Messages quote the JSON, in which a value may have escapes.
        self._given = dict(self.params)

    def log(self, msg: str, log_args: dict[str, t.Any] | None = None) -> None:
        """Logs nothing. Ansible overrides the argument C(no_log) of a module with the task's."""

    def exit_json(self, **kwargs: t.Any) -> t.NoReturn:
        """Returns a result without the hidden options."""
        super().exit_json(**kwargs, **self._invocation())

    def fail_json(self, msg: str, **kwargs: t.Any) -> t.NoReturn:
        """Returns a failure without the hidden options."""
        super().fail_json(msg if self._validated else self._without_hidden(msg), **kwargs, **self._invocation())

    def _hidden(self) -> list[str]:
        # A misspelt option may hold a secret.
        unknown = set(self.params) - set(self.argument_spec)
        return [name for name in (*HIDDEN, *sorted(unknown)) if self.params.get(name) is not None]

    def _invocation(self) -> dict[str, t.Any]:
        hidden = dict.fromkeys(self._hidden(), PLACEHOLDER)
        return {"invocation": {"module_args": {**self.params, **hidden}}}

    def _without_hidden(self, message: str) -> str:
        texts = {text for name in self._hidden() for text in _texts(self._given.get(name))}
        # A text may contain another.
        for text in sorted(texts - {""}, key=len, reverse=True):
            message = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", "********", message)
        return message


def _with_json(value: t.Any, option: dict[str, t.Any]) -> t.Any:
    """The value of an option, with JSON in place of the structures where the option is a text."""
    kind, members = option.get("type"), option.get("options", {})
    if kind == "str" and isinstance(value, (dict, list)):
        return json.dumps(value)
    if kind == "dict" and isinstance(value, dict):
        return {name: _with_json(member, members.get(name, {})) for name, member in value.items()}
    if kind == "list" and isinstance(value, list):
        element = {"type": option.get("elements"), "options": members}
        return [_with_json(each, element) for each in value]
    return value


def _texts(value: t.Any) -> t.Iterator[str]:
    """The texts that a message about a value may contain."""
    for text in _leaves(value):
        yield text
        yield repr(text)[1:-1]
        # Ansible makes a list or a dictionary of a text, and its messages quote the names in that dictionary.
        for part in (text, *text.split(",")):
            # Before ansible-core 2.18, this raises a ValueError if one of several words has no "=".
            with suppress(TypeError, ValueError):
                members = check_type_dict(part)
                yield from _leaves(members)
                if not part.startswith("{"):
                    yield from members


def _leaves(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from _leaves(element)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
