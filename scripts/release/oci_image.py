#!/usr/bin/env python3
"""Writes a container image for several architectures as one archive in the OCI layout, without a container daemon.

  oci_image.py --output FILE amd64=BINARY [arm64=BINARY]

The image has what the Containerfile puts into it: the static program under all of its names, certificate authorities, and the user
65532. The same programs and authorities give the same bytes. `skopeo copy oci-archive:FILE docker://…` publishes it; `podman load`
takes it as well.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import tarfile
from datetime import UTC, datetime
from pathlib import Path

# The names that deployments of image-customization-controller call.
NAMES = [
    "image-customization-controller",
    "image-customization-server",
    "machine-image-customization-controller",
    "machine-image-customization-server",
]
USER = 65532
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])


def add(archive, name, content=b"", kind=tarfile.REGTYPE, mode=0o644, owner=0, target=""):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.mtime, entry.linkname = kind, mode, EPOCH, target
    entry.uid = entry.gid = owner
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def layer(binary):
    """The file system, as a tar archive."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.GNU_FORMAT) as archive:
        add(archive, "dayone", binary.read_bytes(), mode=0o755)
        for name in NAMES:
            add(archive, name, kind=tarfile.SYMTYPE, mode=0o777, target="dayone")
        for name in ("etc", "etc/ssl", "etc/ssl/certs", "run", "run/secrets", "var", "var/cache", "var/lib"):
            add(archive, name, kind=tarfile.DIRTYPE, mode=0o755)
        add(archive, "etc/passwd", f"dayone:x:{USER}:{USER}:dayone:/:/sbin/nologin\n".encode())
        add(archive, "etc/group", f"dayone:x:{USER}:\n".encode())
        add(archive, "etc/ssl/certs/ca-certificates.crt", AUTHORITIES.read_bytes())
        add(archive, "tmp", kind=tarfile.DIRTYPE, mode=0o1777)
        add(archive, "var/cache/dayone", kind=tarfile.DIRTYPE, mode=0o755, owner=USER)
        # A new volume there gets this owner and this mode.
        add(archive, "var/lib/dayone", kind=tarfile.DIRTYPE, mode=0o700, owner=USER)
    return content.getvalue()


class Layout:
    """The blobs of an image layout, by digest."""

    def __init__(self):
        self.blobs = {}

    def put(self, media_type, content):
        """Adds a blob, and returns its descriptor."""
        content = content if isinstance(content, bytes) else json.dumps(content, separators=(",", ":")).encode()
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return {"mediaType": f"application/vnd.oci.image.{media_type}", "digest": f"sha256:{digest}", "size": len(content)}

    def write(self, path, index):
        with tarfile.open(path, mode="w", format=tarfile.GNU_FORMAT) as archive:
            add(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
            add(archive, "index.json", json.dumps(index, separators=(",", ":")).encode())
            for name in ("blobs", "blobs/sha256"):
                add(archive, name, kind=tarfile.DIRTYPE, mode=0o755)
            for digest, content in sorted(self.blobs.items()):
                add(archive, f"blobs/sha256/{digest}", content)


def image(layout, architecture, binary, labels, level):
    content = layer(binary)
    created = datetime.fromtimestamp(EPOCH, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {"8080/tcp": {}, "8081/tcp": {}, "8084/tcp": {}},
            "Env": ["MALLOC_ARENA_MAX=2"],
            "Entrypoint": ["/dayone"],
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]},
        "history": [{"created": created, "created_by": "scripts/release/oci_image.py"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.put("config.v1+json", config),
        "layers": [layout.put("layer.v1.tar+gzip", gzip.compress(content, level, mtime=0))],
        "annotations": labels,
    }
    return layout.put("manifest.v1+json", manifest) | {"platform": {"architecture": architecture, "os": "linux"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("programs", nargs="+", type=lambda text: text.split("=", 1), metavar="ARCHITECTURE=BINARY")
    arguments = parser.parse_args()
    labels = {
        "org.opencontainers.image.title": "dayone",
        "org.opencontainers.image.description": "NMState in, bootable virtual media out",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": os.environ["VERSION"],
        "org.opencontainers.image.revision": os.environ["DAYONE_COMMIT"] or "unknown",
    }
    layout = Layout()
    level = 1 if os.environ.get("FAST") else 9
    images = [image(layout, name, Path(binary), labels, level) for name, binary in arguments.programs]
    # One name for all architectures: readers look for their own behind it.
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": images}
    version = os.environ["VERSION"]
    # podman and containerd take the whole name from the second. With the first alone, `podman load` takes the version for the name.
    names = {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"localhost/dayone:{version}"}
    named = layout.put("index.v1+json", index) | {"annotations": names}
    layout.write(arguments.output, index | {"manifests": [named]})


if __name__ == "__main__":
    main()
