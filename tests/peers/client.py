"""Uses the client that openapi-python-client has made of the API's description: client.py URL DOCUMENT. Writes what it has seen
as JSON."""

import json
import sys
from io import BytesIO
from pathlib import Path

from dayone_client import Client
from dayone_client.api.bases import list_bases
from dayone_client.api.findings import check_documents
from dayone_client.api.images import create_image
from dayone_client.models import Check, Image, Problem
from dayone_client.types import File

url, document = sys.argv[1], Path(sys.argv[2])


def yaml(text: bytes) -> File:
    return File(payload=BytesIO(text))


client = Client(base_url=url)
bases = list_bases.sync(client=client)

check = check_documents.sync(client=client, body=yaml(document.read_bytes()))
assert isinstance(check, Check), check

image = create_image.sync(client=client, base="coreos", body=yaml(document.read_bytes()))
assert isinstance(image, Image), image

refused = b"interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, address: [{ip: 300.1.1.1, prefix-length: 24}]}}]"
problem = create_image.sync(client=client, base="coreos", body=yaml(refused))
assert isinstance(problem, Problem), problem

seen = {
    "bases": [[base.name, base.state.value] for base in bases.bases],
    "hosts": [host.name for host in check.hosts],
    "image": {"id": image.id, "url": image.url},
    "problem": {"type": problem.type_, "codes": [finding.code for finding in problem.findings]},
}
json.dump(seen, sys.stdout, default=str)
