"""Prints the properties that libnm's settings have, and what their values may be, as libnm's own introspection says.

Standard output: a JSON object, "group.key" to the kind of its value: bool, int LEAST GREATEST, enum VALUE..., flags MASK,
text, list, bytes or other, and "secret" behind it where the value is one. Run with the distribution's own /usr/bin/python3.
"""

import json
import sys

import gi

gi.require_version("NM", "1.0")
from gi.repository import GObject, NM

SECRET = 1 << 10
PLAIN = {"gboolean": "bool", "gchararray": "text", "GStrv": "list", "GBytes": "bytes"}


def kind(spec):
    type_of = spec.value_type
    if type_of.name in PLAIN:
        return PLAIN[type_of.name]
    if type_of.is_a(GObject.TYPE_ENUM):
        return " ".join(["enum"] + [str(int(value)) for value in sorted(spec.enum_class.__enum_values__)])
    if type_of.is_a(GObject.TYPE_FLAGS):
        mask = 0
        for value in spec.flags_class.__flags_values__:
            mask |= int(value)
        return "flags %d" % mask
    if hasattr(spec, "minimum"):
        return "int %d %d" % (spec.minimum, spec.maximum)
    return "other"


def properties():
    for name in dir(NM):
        setting = getattr(NM, name)
        if not (name.startswith("Setting") and isinstance(setting, type) and issubclass(setting, NM.Setting)):
            continue
        if setting in (NM.Setting, NM.SettingIPConfig):
            continue
        group = setting().get_name()
        for spec in setting.list_properties():
            if spec.name != "name":
                secret = " secret" if int(spec.flags) & SECRET else ""
                yield "%s.%s" % (group, spec.name), kind(spec) + secret
    # The options of ethtool are no properties of GObject.
    for name in dir(NM):
        if name.startswith("ETHTOOL_OPTNAME_"):
            option = getattr(NM, name)
            is_number = option.startswith(("coalesce-", "ring-", "channels-"))
            values = "flags 255" if option == "fec-mode" else "int 0 4294967295" if is_number else "bool"
            yield "ethtool." + option, values


json.dump(dict(properties()), sys.stdout)
