#!/usr/bin/env python3
"""The tests that need nothing but this repository.

  unit.py [CRATE]

Without CRATE, the tests of a crate run only if something that they depend on has changed since they last passed: a file of the
crate, of a crate that it depends on, or of no crate; or the compiler. With ALL set in the environment, all run.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

# It boots machines and talks to other programs.
NOT_UNIT = "acceptance"
# nextest's exit code if tests have failed, and all have run.
TESTS_FAILED = 100


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def states(packages):
    """What the tests of each crate depend on, as a digest."""
    here = Path.cwd()
    files = {}
    for name in output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        path = here / name
        if path.is_file():
            files[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    directories = {name: Path(package["manifest_path"]).parent for name, package in packages.items()}

    def crate_of(path):
        return next((name for name, directory in directories.items() if directory in path.parents), None)

    owners = {path: crate_of(path) for path in files}
    compiler = output("rustc", "--version", "--verbose")

    def state(crate):
        of = {None, *with_dependencies(crate, packages)}
        made_of = sorted(f"{path}\0{digest}" for path, digest in files.items() if owners[path] in of)
        return hashlib.sha256("\0".join([compiler, *made_of]).encode()).hexdigest()

    return {crate: state(crate) for crate in packages if crate != NOT_UNIT}


def with_dependencies(crate, packages):
    found, waiting = set(), [crate]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [each["name"] for each in packages[name]["dependencies"] if each.get("path")]
    return found


def failed_crates(report):
    """The crates of the test binaries with a failure, in nextest's JUnit report."""
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    return {suite.get("name").split("::")[0] for suite in suites if suite.find("testcase/*") is not None}


def main():
    metadata = json.loads(output("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"))
    packages = {package["name"]: package for package in metadata["packages"]}
    target = Path(metadata["target_directory"])
    # nextest keeps its report in `target`, wherever cargo builds.
    kept, report = target / "unit-passed.json", Path("target/nextest/unit/junit.xml")
    passed = json.loads(kept.read_text()) if kept.exists() else {}
    before = states(packages)

    if crate := sys.argv[1] if len(sys.argv) > 1 else None:
        names = [name for name in before if name in (crate, f"dayone-{crate}")]
        if not names:
            sys.exit(f"no crate {crate}; there are: {', '.join(before)}")
    elif any(name == "ALL" or name.startswith(("UPDATE_", "PROPTEST_")) for name in os.environ):
        names = list(before)
    else:
        names = [name for name in before if passed.get(name) != before[name]]
        if others := [name for name in before if name not in names]:
            print(f"Not run, because nothing has changed since they passed (ALL=1 runs them): {', '.join(others)}")
    if not names:
        return

    report.unlink(missing_ok=True)
    run = ["cargo", "nextest", "run", "--locked", "--workspace", "--profile", "unit"]
    status = subprocess.run([*run, "-E", " + ".join(f"package(={name})" for name in names)]).returncode
    if status in (0, TESTS_FAILED) and states(packages) == before:
        failed = failed_crates(report) if status else set()
        passed = {name: state for name, state in passed.items() if name not in names}
        passed |= {name: before[name] for name in names if name not in failed}
        kept.write_text(json.dumps(passed, indent=1))
    sys.exit(status)


if __name__ == "__main__":
    main()
