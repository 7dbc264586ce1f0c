#!/usr/bin/env python3
"""Prints how a release was built: an in-toto statement with SLSA provenance.

  provenance.py DIRECTORY [--material NAME=FILE ...] [--compiler ARCHITECTURE=VERSION ...] [--key FILE]

The subjects are the files in DIRECTORY. Without a key, the statement is unsigned: it says what was done, and proves nothing. With
a private key (PEM, Ed25519), it comes in a DSSE envelope that the key has signed.
"""

import argparse
import base64
import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TYPE = "application/vnd.in-toto+json"


def sha256(path):
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout.strip()


def statement(directory, materials, compilers):
    commit = os.environ["DAYONE_COMMIT"]
    source = {"name": "source", "uri": "git+urn:dayone"}
    if len(commit) == 40:
        source["digest"] = {"gitCommit": commit}
    else:
        # Changed files, or no git: no digest tells what was built.
        source["annotations"] = {"commit": commit or "unknown"}
    dependencies = [source, {"name": "Cargo.lock", "digest": sha256(ROOT / "Cargo.lock")}]
    dependencies += [{"name": name, "digest": sha256(Path(file))} for name, file in materials]
    subjects = [path for path in sorted(directory.iterdir()) if path.is_file()]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": sha256(path)} for path in subjects],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:dayone:make-release:v1",
                "externalParameters": {"command": "make release", "version": os.environ["VERSION"]},
                "internalParameters": {
                    "SOURCE_DATE_EPOCH": int(os.environ["SOURCE_DATE_EPOCH"]),
                    "system": said("sh", "-c", ". /etc/os-release && echo $PRETTY_NAME"),
                    "compilers": compilers,
                },
                "resolvedDependencies": dependencies,
            },
            # Whoever ran the command: no service vouches for this machine, so this is SLSA build level 0 or 1, and no more.
            "runDetails": {"builder": {"id": "urn:dayone:builder:any-machine"}},
        },
    }


def signed(payload, key):
    """A DSSE envelope. The signature is over the pre-authentication encoding of the payload."""
    encoded = b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload)
    with tempfile.NamedTemporaryFile() as file:
        file.write(encoded)
        file.flush()
        sign = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", file.name]
        signature = subprocess.run(sign, check=True, stdout=subprocess.PIPE).stdout
    public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], check=True, stdout=subprocess.PIPE)
    return {
        "payloadType": TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": hashlib.sha256(public.stdout).hexdigest(), "sig": base64.b64encode(signature).decode()}],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--material", action="append", default=[], type=lambda text: text.split("=", 1))
    parser.add_argument("--compiler", action="append", default=[], type=lambda text: text.split("=", 1))
    parser.add_argument("--key")
    arguments = parser.parse_args()
    document = statement(arguments.directory, arguments.material, dict(arguments.compiler))
    if arguments.key:
        document = signed(json.dumps(document, separators=(",", ":")).encode(), arguments.key)
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
