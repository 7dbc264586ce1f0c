"""Reads keyfiles as NetworkManager's daemon does, with its own library.

Standard input: a JSON object, file name to content. Standard output: a JSON object, file name to what libnm makes of
it: {"problems": [...], "settings": {setting: {property: value}}}. Run with the distribution's own /usr/bin/python3.
"""

import json
import sys

import gi

gi.require_version("NM", "1.0")
from gi.repository import GLib, NM

DIRECTORY = "/etc/NetworkManager/system-connections"


def read(content):
    problems = []

    def handler(_keyfile, _connection, kind, data, _user_data):
        if kind == NM.KeyfileHandlerType.WARN:
            problems.append("%s.%s: %s" % (data.get_context()[1:4:2] + (data.warn_get()[0],)))
        return False

    keyfile = GLib.KeyFile()
    try:
        keyfile.load_from_data(content, len(content.encode()), GLib.KeyFileFlags.NONE)
        # As the daemon does, which calls a profile without an id by its file's name.
        if not keyfile.has_group("connection") or "id" not in keyfile.get_keys("connection")[0]:
            keyfile.set_string("connection", "id", "a")
        connection = NM.keyfile_read(keyfile, DIRECTORY, NM.KeyfileHandlerFlags.NONE, handler, None)
        connection.normalize(None)
        connection.verify()
        connection.verify_secrets()
    except GLib.Error as error:
        return {"problems": problems + [error.message], "settings": {}}
    settings = connection.to_dbus(NM.ConnectionSerializationFlags.ALL).unpack()
    return {"problems": problems, "settings": settings}


json.dump(
    {name: read(content) for name, content in json.load(sys.stdin).items()},
    sys.stdout,
    default=lambda value: str(value),
)
