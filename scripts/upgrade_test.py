"""Runs an earlier dayone, this one, and the earlier one again, on one data directory. scripts/upgrade-test.sh starts it.

usage: upgrade_test.py EARLIER_PROGRAM THIS_PROGRAM

All images keep their URLs, their bytes and their entity tags, also those that this dayone has published. A reader that is in the
middle of an image when a server stops continues behind the same byte at the next server (Range, If-Range). A boot keeps its record,
and its BMC is brought back to what it was by whichever server is asked to. The commands of each dayone use the server of the other, its
API has what clients of the earlier one need, and this dayone accepts settings that the earlier one wrote.
"""

import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

from api_differences import differences

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT, HOST = ROOT / "fixtures/scenarios/static-ipv4-baremetalhost.yaml", "ostest-master-0"
CACHE = Path(os.environ.get("DAYONE_CACHE") or Path.home() / ".cache/dayone")
DRAIN_SECONDS = 2
# What clients made of an earlier description do not get, and CHANGELOG.md says: the role `read`, which 0.2 does not have, gets no URLs, and
# documents in YAML have been texts since 0.2.
KNOWN_DIFFERENCES = {"ImageFile.url can be null", "ImageFile.url is no longer required", "YamlDocuments cannot be object"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def request(url, body=None, media_type="application/yaml", method=None):
    """Returns the status, the headers and the content."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    if isinstance(body, (dict, list)):
        media_type = "application/json"
    sent = urllib.request.Request(url, data, {"Content-Type": media_type} if data else {}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def json_of(url, body=None, expected=(200, 201, 202, 204, 207), **options):
    status, _, content = request(url, body, **options)
    assert status in expected, f"{url}: {status} {content[:500]!r}"
    return json.loads(content) if content else None


def run(program, *arguments, code=0):
    """Returns the output of a command of dayone that ends with this exit code."""
    words = [str(word) for word in (program, *arguments)]
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert ended.returncode == code, f"{words}: exit code {ended.returncode}, not {code}:\n{ended.stdout}{ended.stderr}"
    return ended.stdout


def has(program, command):
    """Whether the program has this command: 0.1 lacks many."""
    return not subprocess.run([program, command, "--help"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def wait_for(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"{what}: not after {seconds} s"
        time.sleep(0.1)
    return result


class Server:
    """dayone serve, always with the same directory and the same addresses, as a service is."""

    def __init__(self, work):
        self.work = work
        self.api, self.media = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        self.process = None

    def url(self, path):
        return f"http://{self.api}{path}"

    def is_ready(self):
        try:
            return request(self.url("/readyz"))[0] == 200
        except (OSError, http.client.HTTPException):
            assert self.process.poll() is None, f"the server has ended: {self.work / 'dayone.log'}"
            return False

    def start(self, program):
        log = open(self.work / "dayone.log", "ab")
        command = [program, "serve", "--data-dir", self.work / "data", "--base", f"coreos={self.work / 'base.iso'}"]
        command += ["--api-listen", self.api, "--media-listen", self.media, "--media-url", f"http://{self.media}"]
        command += ["--drain-seconds", str(DRAIN_SECONDS)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("the server answers", self.is_ready)

    def stop(self):
        """As systemd does: SIGTERM, and then waits until the process has ended."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=DRAIN_SECONDS + 30)
        assert code in (0, -signal.SIGTERM), f"the server ended with {code}"


class Reader(threading.Thread):
    """A BMC that reads an image slowly, and reads on where it was cut off."""

    def __init__(self, url):
        super().__init__(daemon=True)
        host, self.path = url.removeprefix("http://").split("/", 1)
        self.host = host
        self.content, self.cuts, self.error = bytearray(), 0, None
        self.hurry = threading.Event()
        self.size = None

    def run(self):
        try:
            tag = None
            while self.size is None or len(self.content) < self.size:
                try:
                    tag = self.read_on(tag)
                except (OSError, http.client.HTTPException):
                    time.sleep(0.1)
        except Exception as error:  # the main thread reports it
            self.error = error

    def read_on(self, tag):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        headers = {"Range": f"bytes={len(self.content)}-", "If-Range": tag} if self.content else {}
        connection.request("GET", f"/{self.path}", headers=headers)
        answer = connection.getresponse()
        if self.content:
            expected = f"bytes {len(self.content)}-{self.size - 1}/{self.size}"
            found = (answer.status, answer.headers["Content-Range"], answer.headers["ETag"])
            if found != (206, expected, tag):
                raise AssertionError(f"the reader cannot read on: {found}, not {(206, expected, tag)}")
            self.cuts += 1
        else:
            if answer.status != 200:
                raise AssertionError(f"the reader got {answer.status}")
            self.size, tag = int(answer.headers["Content-Length"]), answer.headers["ETag"]
        while piece := answer.read1(65536):
            self.content += piece
            if not self.hurry.is_set():
                time.sleep(0.1)
        return tag


def emulated_bmc(work):
    """sushy-tools with two machines that are made up. It reads an image when the image is inserted."""
    port = free_port()
    directory = work / "bmc"
    directory.mkdir()
    machines = [{"uuid": str(uuid.uuid4()), "name": name, "power_state": "Off", "nics": []} for name in ("one", "two")]
    configuration = directory / "conf.py"
    configuration.write_text(
        f"SUSHY_EMULATOR_STATE_DIR = {str(directory)!r}\nSUSHY_EMULATOR_FEATURE_SET = 'full'\n"
        f"SUSHY_EMULATOR_FAKE_SYSTEMS = {machines!r}\n"
    )
    command = [CACHE / "bin/sushy-emulator", "--fake", "-i", "127.0.0.1", "-p", str(port), "--config", configuration]
    process = subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(directory)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=open(directory / "log", "wb"),
    )
    origin = f"http://127.0.0.1:{port}"

    def systems():
        try:
            return [member["@odata.id"] for member in json_of(f"{origin}/redfish/v1/Systems")["Members"]]
        except OSError:
            return None

    try:
        return process, origin, wait_for("sushy-emulator", systems)
    except BaseException:
        process.kill()
        raise


def inserted(origin, system):
    return json_of(f"{origin}{system}/VirtualMedia/Cd")["Image"]


class Images:
    """The published images: their URLs, with the entity tag and the digest of what is there."""

    def __init__(self):
        self.known = {}

    def add(self, image):
        url = image["url"]
        status, headers, content = request(url)
        assert (status, headers["ETag"]) == (200, image["etag"]), f"{url}: {status} {headers['ETag']}"
        self.known[url] = (headers["ETag"], headers["Last-Modified"], hashlib.sha256(content).hexdigest())

    def check(self, server, when):
        for url, expected in self.known.items():
            status, headers, content = request(url)
            found = (headers["ETag"], headers["Last-Modified"], hashlib.sha256(content).hexdigest())
            assert (status, found) == (200, expected), f"{when}: {url}: {status} {found}, not {expected}"
            not_modified = urllib.request.Request(url, headers={"If-None-Match": expected[0]})
            try:
                raise AssertionError(f"{url}: {urllib.request.urlopen(not_modified).status}, not 304")
            except urllib.error.HTTPError as error:
                assert error.code == 304, f"{url}: {error.code}"
        listed = json_of(server.url("/v1/images"))
        count = len(listed["images"] if isinstance(listed, dict) else listed)
        print(f"   {when}: {count} images, {len(self.known)} URLs: bytes, ETag and Last-Modified as before")


def commands_use(server, programs, machine, images):
    """The commands of the first program have a server of the second boot a host, find what that made, and undo it."""
    client, origin, system = programs[0], *machine
    to = ("--server", server.url(""))
    # In the spelling of 0.1, which later versions still accept. The emulator does not report how far a host is: exit code 3.
    order = ["boot", DOCUMENT, "--base", "coreos", "--bmc", f"redfish-virtualmedia+{origin}{system}", "--wait-for", "boot-progress"]
    # This one follows all boots of a server in one stream, which 0.1 does not have.
    waits = has(programs[1], "boots") or not has(client, "boots")
    output = run(client, *order, "--output", "json", *to, *(["--wait"] if waits else []), code=3 if waits else 0)
    identity = json.loads(output.splitlines()[-1])["id"]
    boot_url = server.url(f"/v1/boots/{identity}")
    image = json_of(server.url(f"/v1/images/{json_of(boot_url)['image']}"))
    images.add(image)
    wait_for("the BMC has the image", lambda: inserted(origin, system) == image["url"])
    if all(has(program, "boots") for program in programs):
        listed = json.loads(run(client, "images", "--format", "json", *to))
        assert image["url"] in [listed_image["url"] for listed_image in listed], listed
        assert identity in [boot["id"] for boot in json.loads(run(client, "boots", "list", "--format", "json", *to))]
        assert json.loads(run(client, "boots", "show", identity, "--format", "json", *to))["id"] == identity
        run(client, "boots", "watch", "--host", HOST, *to, code=3)
        assert [base["name"] for base in json.loads(run(client, "base", "list", "--format", "json", *to))] == ["coreos"]
        run(client, "boots", "rm", identity, "--wait", *to)
    else:
        request(boot_url, method="DELETE")
    wait_for("the BMC is empty", lambda: not inserted(origin, system))
    return "boot, watch, list and eject" if waits and has(client, "boots") else "boot"


def settings_are_accepted(earlier, this, work):
    """This dayone accepts the settings that the earlier one wrote for a new user."""
    if not has(earlier, "init"):
        return
    directory = work / "settings"
    run(earlier, "init", directory, "--media-url", "http://192.0.2.10:8081", "--base", f"coreos={work / 'base.iso'}")
    run(this, "config", "check", directory / "dayone.yaml")
    print("   this one accepts the settings that the earlier one wrote")


def record_of_a_later_version(server, earlier, images):
    """The earlier dayone neither serves nor touches a record if it does not know its version, or that of its recipe."""
    record = sorted((server.work / "data/images").glob("*.json"))[0]
    original = record.read_bytes()
    for what, known in [("record", b'{"version":1,'), ("recipe", b'"recipe":{"version":1,')]:
        later = original.replace(known, known.replace(b"1", b"99"), 1)
        assert later != original
        record.write_bytes(later)
        server.start(earlier)
        gone = [url for url in images.known if request(url)[0] != 200]
        assert gone, f"an image whose {what} has another version is served"
        server.stop()
        assert record.read_bytes() == later, f"a {what} of another version was changed"
        print(f"   a {what} of a later version: left as it is, and {len(gone)} URL of its image is not served")
    record.write_bytes(original)


def is_under_way(boot, identity):
    # The emulator does not report how far a host is, so dayone soon says that it does not know. The boot has not ended.
    assert boot["id"] == identity and boot["state"] in ("running", "unknown") and not boot.get("ended"), boot


def main(earlier, this):
    work = Path(tempfile.mkdtemp(prefix="dayone-upgrade-"))
    server, bmc = Server(work), None
    try:
        subprocess.run([ROOT / "fixtures/bases/make-coreos-iso.sh", work / "base.iso", "--size-mib", "16"], check=True, stdout=subprocess.DEVNULL)
        document = DOCUMENT.read_bytes()
        nmstate = b"interfaces:\n- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}\n"
        by_mac = nmstate.replace(b"state: up", b"state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01'")
        bmc, origin, (system, other) = emulated_bmc(work)
        images = Images()
        settings_are_accepted(earlier, this, work)

        print("1. the earlier dayone makes images and a boot")
        server.start(earlier)
        description = json_of(server.url("/v1/openapi.json"))
        first = json_of(server.url("/v1/images?base=coreos&format=iso"), document)
        for path, body in [
            ("/v1/images?base=coreos&format=usb", document),
            ("/v1/images?base=coreos&format=iso&hostname=worker-7&karg_append=a%3Db", nmstate),
            ("/v1/images?data=config-2&hostname=worker-9", by_mac),
        ]:
            images.add(json_of(server.url(path), body))
        images.add(first)
        boot = {"image": first["id"], "bmc": {"address": f"redfish-virtualmedia+{origin}{system}"}}
        boot = json_of(server.url("/v1/boots"), boot)
        boot = (boot.get("boots") or [boot])[0] if isinstance(boot, dict) else boot[0]
        boot_url = server.url(f"/v1/boots/{boot['id']}")
        wait_for("the BMC has the image", lambda: inserted(origin, system) == first["url"])
        images.check(server, "earlier")
        print(f"   commands of this one use it: {commands_use(server, (this, earlier), (origin, other), images)}")
        reader = Reader(first["url"])
        reader.start()
        wait_for("the reader reads", lambda: len(reader.content) > 200_000)

        print("2. this dayone takes over")
        server.stop()
        server.start(this)
        images.check(server, "this one")
        again = json_of(server.url("/v1/images?base=coreos&format=iso"), document)
        assert (again["id"], again["url"], again["etag"]) == (first["id"], first["url"], first["etag"]), again
        is_under_way(json_of(boot_url), boot["id"])
        missed = set(differences(description, json_of(server.url("/v1/openapi.json")))) - KNOWN_DIFFERENCES
        assert not missed, f"clients of the earlier API would fail: {missed}"
        wait_for("the reader reads on", lambda: reader.cuts == 1 or reader.error)
        images.add(json_of(server.url("/v1/images?base=coreos&format=iso&hostname=worker-8"), nmstate))
        two = (ROOT / "fixtures/inputs/bare-metal-host/two-hosts.yaml").read_bytes()
        for host in json_of(server.url("/v1/images?base=coreos&format=iso&hosts=all"), two)["hosts"]:
            images.add(host["image"])
        cut_at = len(reader.content)
        wait_for("the reader reads", lambda: len(reader.content) > cut_at + 200_000 or reader.error)

        print("3. the earlier dayone is installed again")
        server.stop()
        server.start(earlier)
        images.check(server, "earlier")
        is_under_way(json_of(boot_url), boot["id"])
        wait_for("the reader reads on", lambda: reader.cuts == 2 or reader.error)
        reader.hurry.set()
        reader.join(timeout=120)
        assert reader.error is None, reader.error
        digest = hashlib.sha256(reader.content).hexdigest()
        assert digest == images.known[first["url"]][2], "the reader has other bytes"
        print(f"   the reader was cut off {reader.cuts} times, and has the whole image: {reader.size} bytes")
        request(boot_url, method="DELETE")
        wait_for("the BMC is empty", lambda: not inserted(origin, system))
        print("   the boot is ended by the earlier dayone: the BMC has no image")
        server.stop()
        record_of_a_later_version(server, earlier, images)

        print("4. this dayone again")
        server.start(this)
        print(f"   commands of the earlier one use it: {commands_use(server, (earlier, this), (origin, other), images)}")
        images.check(server, "this one")
        server.stop()
        shutil.rmtree(work)
    finally:
        for process in (server.process, bmc):
            if process and process.poll() is None:
                process.kill()
        if work.exists():
            print(f"upgrade: failed; logs and data are in {work}", file=sys.stderr)


main(*sys.argv[1:])
