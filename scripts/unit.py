#!/usr/bin/env python3
"""The tests that need nothing but this repository.

  unit.py [CRATE]

Property tests try a quarter of the random inputs that they try in `make test`. Set PROPTEST_CASES=256 to try all of them.

Without CRATE, the tests of a crate run only if something that they depend on has changed since they last passed: a file of the
crate, of a crate that it depends on, or of no crate; or the compiler. With ALL set in the environment, all run.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

# It boots machines and talks to other programs.
NOT_UNIT = "acceptance"

# Their tests only compute, so those of a binary can share a process. This saves a quarter of their processor time. They begin as soon as
# the binary is linked, while cargo still links others.
LIBRARIES = {"dayone-vocabulary", "hosts", "dayone-imagelib"}

# In seconds, for such a process. nextest has a limit for each test.
TIME_LIMIT = 1200

# Files in memory cost a tenth less of a processor than those of a disk. The tests need a small part of this.
MEMORY = Path("/dev/shm")
MEMORY_NEEDED = 4 << 30

# Random inputs of a property test, in place of proptest's own 256. Tests that try more or fewer try a multiple or a part of this.
CASES = "64"


# For each test, nextest starts itself and then the test, because of Ctrl-Z in the wrong moment: a thirtieth of the processor.
# Tests of images free and take tens of MiB again and again, which otherwise go back to the kernel and come as new pages each time.
ENVIRONMENT = {
    "NEXTEST_DOUBLE_SPAWN": "0",
    "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=67108864:glibc.malloc.trim_threshold=1073741824:glibc.malloc.top_pad=1048576",
    "PROPTEST_CASES": CASES,
}


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def states(packages):
    """What the tests of each crate depend on, as a digest. Sources without git's directory have none, so that all tests run."""
    here = Path.cwd()
    if not (here / ".git").exists():
        return {crate: None for crate in packages if crate != NOT_UNIT}
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


@contextmanager
def environment_of_tests():
    """With a directory for their files in memory, unless the caller has named one or there is too little memory."""
    environment = {**ENVIRONMENT, **os.environ}
    if "TMPDIR" in os.environ or not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < MEMORY_NEEDED:
        yield environment
        return
    with tempfile.TemporaryDirectory(prefix="dayone-unit-", dir=MEMORY) as directory:
        # As other temporary directories: some tests ask whether everyone can read a file.
        os.chmod(directory, 0o755)
        yield {**environment, "TMPDIR": directory}


class Library:
    """The tests of one test binary of a library, while they run. They leave the processor to the compiler."""

    def __init__(self, name, binary, directory, environment):
        self.name = name
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            ["nice", "-n", "5", binary, "--quiet"],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )

    def passed(self):
        """Waits for the tests, and prints all that they printed if one has failed."""
        try:
            status = self.process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = f"killed after {TIME_LIMIT} s"
        self.output.seek(0)
        printed = self.output.read()
        results = [line for line in printed.splitlines() if line.startswith("test result: ")]
        if status != 0:
            print(printed)
        print(f"{self.name}: {results[0] if results else f'no result ({status})'}", flush=True)
        return status == 0


def running_libraries(packages, names, environment):
    """Builds the tests of all crates. Starts the tests of these libraries as soon as they are linked, and yields them."""
    command = ["cargo", "test", "--no-run", "--locked", "--workspace", "--exclude", NOT_UNIT]
    of_id = {package["id"]: package for package in packages.values()}
    with subprocess.Popen([*command, "--message-format", "json-render-diagnostics"], stdout=subprocess.PIPE, text=True) as cargo:
        for line in cargo.stdout:
            message = json.loads(line)
            package = of_id.get(message.get("package_id"))
            if package and package["name"] in names and message.get("executable") and message["profile"]["test"]:
                name = f"{package['name']}, {message['target']['name']}"
                yield Library(name, message["executable"], Path(package["manifest_path"]).parent, environment)
    if cargo.returncode != 0:
        sys.exit(cargo.returncode)


def all_pass(names, packages, environment):
    """Whether all tests of these crates pass."""
    libraries = []
    try:
        for library in running_libraries(packages, LIBRARIES.intersection(names), environment):
            libraries.append(library)
        passed = True
        if others := [name for name in names if name not in LIBRARIES]:
            command = ["cargo", "nextest", "run", "--locked", "--workspace", "--exclude", NOT_UNIT, "--profile", "unit"]
            chosen = " + ".join(f"package(={name})" for name in others)
            passed = subprocess.run([*command, "-E", chosen], env=environment).returncode == 0
        return all([library.passed() for library in libraries]) and passed
    finally:
        # Some still run if the build has failed, or after Ctrl-C.
        for library in libraries:
            library.process.kill()
            library.process.wait()


def main():
    metadata = json.loads(output("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"))
    packages = {package["name"]: package for package in metadata["packages"]}
    kept = Path(metadata["target_directory"]) / "unit-passed.json"
    passed = json.loads(kept.read_text()) if kept.exists() else {}
    before = states(packages)

    if crate := sys.argv[1] if len(sys.argv) > 1 else None:
        names = [name for name in before if name in (crate, f"dayone-{crate}")]
        if not names:
            sys.exit(f"no crate {crate}; there are: {', '.join(before)}")
    elif any(name == "ALL" or name.startswith(("UPDATE_", "PROPTEST_")) for name in os.environ):
        names = list(before)
    else:
        names = [name for name in before if before[name] is None or passed.get(name) != before[name]]
        if others := [name for name in before if name not in names]:
            print(f"Not run, because nothing has changed since they passed (ALL=1 runs them): {', '.join(others)}")
    if not names:
        return

    with environment_of_tests() as environment:
        passed_now = all_pass(names, packages, environment)
    passed = {name: state for name, state in passed.items() if name not in names}
    # What was changed meanwhile may not have been built.
    if passed_now and states(packages) == before:
        passed |= {name: before[name] for name in names}
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(passed, indent=1))
    sys.exit(not passed_now)


if __name__ == "__main__":
    main()
