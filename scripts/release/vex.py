#!/usr/bin/env python3
"""Prints an OpenVEX document: what the advisories that deny.toml ignores mean for dayone, as packaging/vex.json says.

The two must have the same advisories: one that is ignored without a statement, or the reverse, is an error.
"""

import json
import os
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    ignored = tomllib.loads((ROOT / "deny.toml").read_text())["advisories"]["ignore"]
    ignored = {entry if isinstance(entry, str) else entry["id"] for entry in ignored}
    statements = json.loads((ROOT / "packaging/vex.json").read_text())
    stated = {statement["vulnerability"]["name"] for statement in statements}
    if ignored != stated:
        different = ", ".join(sorted(ignored ^ stated))
        sys.exit(f"vex.py: deny.toml and packaging/vex.json do not have the same advisories: {different}")

    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    version, epoch = os.environ["VERSION"], int(os.environ["SOURCE_DATE_EPOCH"])
    for statement in statements:
        component = statement.pop("component")
        parts = [f"pkg:cargo/{each['name']}@{each['version']}" for each in locked if each["name"] == component]
        if not parts:
            sys.exit(f"vex.py: {component} of packaging/vex.json is not in Cargo.lock")
        parts = [{"@id": part.replace("+", "%2B")} for part in parts]
        statement["products"] = [{"@id": f"pkg:generic/dayone@{version}", "subcomponents": parts}]
    document = {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": f"https://openvex.dev/docs/dayone-{version}-{os.environ['DAYONE_COMMIT'] or 'unknown'}",
        "author": "The dayone authors",
        "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "version": 1,
        "tooling": "scripts/release/vex.py",
        "statements": statements,
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
