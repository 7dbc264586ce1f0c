"""Reads a kickstart file as Anaconda's releases do, and prints as JSON what they find: kickstart.py FILE RELEASE..."""

import json
import sys
import warnings

from pykickstart.parser import KickstartParser
from pykickstart.version import makeVersion

warnings.simplefilter("ignore")


def read(path, release):
    handler = makeVersion(release)
    KickstartParser(handler).readKickstart(path)
    network = [vars(data) for data in handler.network.network]
    scripts = [
        {"type": script.type, "chroot": script.inChroot, "error_on_fail": script.errorOnFail,
         "interpreter": script.interp, "script": script.script}
        for script in handler.scripts
    ]
    return {
        "network": [{name: str(value) for name, value in data.items()} for data in network],
        "packages": [str(group.name) for group in handler.packages.groupList],
        "scripts": scripts,
    }


json.dump({release: read(sys.argv[1], release) for release in sys.argv[2:]}, sys.stdout)
