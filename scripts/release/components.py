"""What a build of dayone contains: the crates that cargo links into it for one target, and those that only help to build it."""

import json
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CARGO = os.environ.get("CARGO", "cargo")


@dataclass(frozen=True, order=True)
class Crate:
    """A crate of one version. Crates of this workspace have neither a checksum nor a registry."""

    name: str
    version: str
    license: str
    checksum: str | None
    directory: str


def cargo(*arguments):
    return subprocess.run([CARGO, *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def host():
    """The platform of this machine, on which build scripts run."""
    rustc = os.environ.get("RUSTC", "rustc")
    said = subprocess.run([rustc, "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.search("^host: (.*)$", said, re.MULTILINE).group(1)


def known_crates(target):
    """The crates that a build for `target` needs, by name and version. Those of other systems may not be on this machine."""
    checksums = {
        (package["name"], package["version"]): package.get("checksum")
        for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    }
    platforms = [option for platform in {target, host()} for option in ("--filter-platform", platform)]
    metadata = json.loads(cargo("metadata", "--locked", "--offline", "--format-version", "1", *platforms))
    crates = {}
    for package in metadata["packages"]:
        key = (package["name"], package["version"])
        # Before 2018, crates wrote "MIT/Apache-2.0".
        license = (package["license"] or "NOASSERTION").replace(" / ", " OR ").replace("/", " OR ")
        crates[key] = Crate(*key, license, checksums[key], str(Path(package["manifest_path"]).parent))
    return crates


def tree(crates, target, edges):
    """The dependencies of dayone as cargo resolves its features for `target`: pairs of a crate and one that it needs."""
    text = cargo(
        "tree", "--locked", "--offline", "--package", "dayone", "--target", target, "--edges", edges,
        "--prefix", "depth", "--format", " {p}",
    )
    above, pairs = [], []
    for line in text.splitlines():
        depth, name, version = re.match(r"(\d+) (\S+) v(\S+)", line).groups()
        crate = crates[(name, version)]
        del above[int(depth):]
        if above:
            pairs.append((above[-1], crate))
        above.append(crate)
    return list(dict.fromkeys(pairs))


def components(target):
    """dayone's crate, its dependencies as pairs, and the crates that only help to build it."""
    crates = known_crates(target)
    linked = tree(crates, target, "normal,no-proc-macro")
    inside = {crate for pair in linked for crate in pair}
    everything = {crate for pair in tree(crates, target, "normal,build") for crate in pair}
    root = next(crate for crate in inside if crate.name == "dayone")
    return root, linked, sorted(everything - inside)
