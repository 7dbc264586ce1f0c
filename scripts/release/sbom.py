#!/usr/bin/env python3
"""Writes what a program of dayone's contains: an SPDX 2.3 document, and the licenses of the crates in it.

  sbom.py --binary FILE --target TRIPLE --sbom FILE --licenses FILE

scripts/source.sh sets the environment. The same source and the same program give the same documents.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from components import components  # noqa: E402


def identifier(crate):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"crate-{crate.name}-{crate.version}")


def package(crate):
    described = {
        "SPDXID": identifier(crate),
        "name": crate.name,
        "versionInfo": crate.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": crate.license,
        "copyrightText": "NOASSERTION",
    }
    if crate.checksum:
        described["checksums"] = [{"algorithm": "SHA256", "checksumValue": crate.checksum}]
        locator = f"pkg:cargo/{crate.name}@{crate.version.replace('+', '%2B')}"
        described["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
        ]
    return described


def library(name, version, license):
    """A library that is linked in and that cargo does not know."""
    return {
        "SPDXID": f"SPDXRef-library-{name}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": license,
        "copyrightText": "NOASSERTION",
    }


def libraries(target):
    rustc = os.environ.get("RUSTC", "rustc")
    version = subprocess.run([rustc, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[target.split("-")[0]]
    names = [f"libc6-dev:{architecture}", f"libc6-dev-{architecture}-cross"]
    query = ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Version}\n", *names]
    # What is not installed is only said on standard error.
    found = subprocess.run(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    versions = [line.split()[1] for line in found.splitlines() if line.startswith("installed ")]
    glibc = library("glibc", versions[0] if versions else "unknown", "LGPL-2.1-or-later")
    return [library("rust-std", version, "MIT OR Apache-2.0"), glibc]


def document(arguments, root, linked, helpers):
    digest = hashlib.sha256(arguments.binary.read_bytes()).hexdigest()
    inside = sorted({crate for pair in linked for crate in pair})
    added = libraries(arguments.target)
    name = f"dayone-{root.version}-{arguments.target}"
    packages = [package(crate) for crate in [*inside, *helpers]] + added
    for described in packages:
        if described["SPDXID"] == identifier(root):
            described["packageFileName"] = "dayone"
            described["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
            described["primaryPackagePurpose"] = "APPLICATION"
    relationships = [("SPDXRef-DOCUMENT", "DESCRIBES", identifier(root))]
    relationships += [(identifier(crate), "DEPENDS_ON", identifier(needed)) for crate, needed in linked]
    relationships += [(identifier(root), "DEPENDS_ON", library["SPDXID"]) for library in added]
    relationships += [(identifier(crate), "BUILD_DEPENDENCY_OF", identifier(root)) for crate in helpers]
    created = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest}",
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Organization: The dayone authors", "Tool: scripts/release/sbom.py"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}
            for element, kind, related in relationships
        ],
    }


def licenses(linked):
    """The licenses that the crates carry. Those of one text come together."""
    texts = {}
    for crate in sorted({crate for pair in linked for crate in pair if crate.checksum}):
        files = [path for path in sorted(Path(crate.directory).iterdir()) if path.is_file()]
        files = [path for path in files if re.match(r"(?i)(licen[cs]e|copying|copyright|notice|unlicense)", path.name)]
        for path in files:
            text = path.read_text(errors="replace").strip()
            texts.setdefault(text, []).append(f"{crate.name} {crate.version} ({crate.license}): {path.name}")
        if not files:
            texts.setdefault("", []).append(f"{crate.name} {crate.version} ({crate.license})")
    without = texts.pop("", [])
    parts = ["The crates that are linked into dayone, with their licenses."]
    parts += ["\n".join([*names, "", text]) for text, names in texts.items()]
    parts += ["\n".join(["Crates that carry no text, only the name of their license:", *without])] if without else []
    return ("\n\n" + "=" * 80 + "\n\n").join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--binary", "--sbom", "--licenses"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--target", required=True)
    arguments = parser.parse_args()
    root, linked, helpers = components(arguments.target)
    text = json.dumps(document(arguments, root, linked, helpers), indent=1) + "\n"
    arguments.sbom.write_text(text)
    arguments.licenses.write_text(licenses(linked))


if __name__ == "__main__":
    main()
