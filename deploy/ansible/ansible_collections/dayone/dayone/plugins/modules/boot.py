#!/usr/bin/python
# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

DOCUMENTATION = r"""
module: boot
short_description: Boot hosts from images of dayone, through their BMCs
version_added: 0.2.0
description:
  - Boots the hosts that documents describe. The server makes each host's image, has the BMC insert it and boot from it once, and
    watches until the host's own system runs.
  - Ends boots, which ejects the medium and restores the BMC.
author: The authors of dayone (@dayone)
options:
  state:
    description:
      - With V(booted), the hosts are booted, and the task waits until their systems run.
      - With V(started), the boots have begun.
      - With V(absent), no medium is inserted. The BMCs are as they were before.
      - While the task waits, the server may restart, or be too busy to answer. The task then asks again, until O(wait_timeout) is over.
    type: str
    choices: [booted, started, absent]
    default: booted
  id:
    description: The id of the boot to end, with O(state=absent). Otherwise, the boots of the hosts in the documents end.
    type: str
  image:
    description: The id of an image that already exists, instead of O(base). Documents then only describe the BMCs.
    type: str
  bmc:
    description: The BMC. It overrides the documents.
    type: dict
    suboptions:
      address:
        description: The BMC's address, as Metal3 writes it.
        type: str
      credentials:
        description: The name of credentials that the server keeps.
        type: str
      disable_certificate_verification:
        description: Whether not to verify the certificate of the BMC.
        type: bool
  force:
    description:
      - Whether to boot hosts that have booted before.
      - Otherwise, a host whose boot on this server is under way or has succeeded is not booted again, even if its documents have changed.
      - Nor is a host whose boot is V(unknown), because it may be running from the medium. With O(state=booted), the task then fails again.
      - The server boots no host whose medium is still inserted. O(state=absent) ejects it.
    type: bool
    default: false
  wait_for:
    description: The signs that show that a host has booted. Any one of them is enough.
    type: list
    elements: str
    choices: [call-home, reachable, boot-progress, reading]
  booted_within:
    description: How long a host may take to boot after it is switched on, in seconds. The server's default is 1800.
    type: int
  shutdown_within:
    description: How long a host may take to shut down before it is switched off, in seconds.
    type: int
  eject:
    description: When to eject the medium.
    type: str
    choices: [when-deleted, when-booted]
  power_off:
    description: Whether to switch the host off before the medium is ejected.
    type: bool
  wait_timeout:
    description: How long the task waits for all hosts, in seconds. The boots go on after that.
    type: int
    default: 3600
  poll_interval:
    description: How often the task asks how far the boots are, in seconds.
    type: float
    default: 5
extends_documentation_fragment:
  - dayone.dayone.request
  - dayone.dayone.server
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details: The server checks the documents, and no host is booted.
  diff_mode:
    support: none
  platform:
    support: full
    platforms: all
seealso:
  - module: dayone.dayone.image
"""

EXAMPLES = r"""
- name: Boot a host from its documents, with the Secret of its BMC
  dayone.dayone.boot:
    api_url: http://192.0.2.10:8080
    api_token: "{{ dayone_token }}"
    base: coreos
    documents: "{{ lookup('ansible.builtin.file', 'hosts/worker-0.yaml') }}"

- name: Boot a host from an image, with credentials that the server keeps
  dayone.dayone.boot:
    image: "{{ image.image.id }}"
    bmc:
      address: redfish-virtualmedia://192.0.2.200/redfish/v1/Systems/1
      credentials: worker-0

- name: Eject the media of all hosts in the documents
  dayone.dayone.boot:
    state: absent
    documents: "{{ lookup('ansible.builtin.file', 'hosts/all.yaml') }}"
"""

RETURN = r"""
boots:
  description: The boots of the hosts, one for each, as in the answer of the API.
  returned: success, and if a task fails after boots have begun or were deleted
  type: list
  elements: dict
  contains:
    id:
      description: The boot's id.
      type: str
      sample: 06gq1k2m5v8t3n4p
    host:
      description: The host's name in the documents.
      type: str
      sample: worker-0
    state:
      description: V(queued), V(running), V(booted), V(unknown), V(failed), V(ejecting) or V(ejected).
      type: str
      sample: booted
    steps:
      description: The steps with their results.
      type: list
      elements: dict
findings:
  description: Warnings about the documents.
  returned: if boots have begun
  type: list
  elements: dict
problem:
  description: Why the server has refused the request (RFC 9457), with C(findings).
  returned: if the server has refused the request
  type: dict
"""

import json
import time

from ansible_collections.dayone.dayone.plugins.module_utils import api as server
from ansible_collections.dayone.dayone.plugins.module_utils import quiet
from ansible_collections.dayone.dayone.plugins.module_utils import image_request

SETTINGS = ["image", "bmc", "wait_for", "booted_within", "shutdown_within", "eject", "power_off"]
# A boot that has succeeded ends only when its medium is ejected.
UNDER_WAY = ["queued", "running", "ejecting"]


def hosts(api, order):
    """The names of the hosts that the request boots; None for a host that has no name."""
    documents = order.get("documents")
    if documents is None and "nmstate" in order:
        return [order.get("host")]
    if documents is None:
        return [None]
    question = {"documents": documents}
    if "host" in order:
        question["host"] = order["host"]
    check = api.request("POST", "/v1/check", body=question).body
    return [host.get("name") for host in check["hosts"]] or [None]


def refuse_mistakes(api, order):
    """Fails for mistakes in the documents, and for an unknown base, as the request for boots does."""
    question = {name: order[name] for name in ["documents", "host", "base"] if name in order}
    if "nmstate" in order:
        question["documents"] = json.dumps(order["nmstate"])
    if "documents" not in question:
        return
    check = api.request("POST", "/v1/check", body=question).body
    errors = [finding["message"] for finding in check["findings"] if finding["severity"] == "error"]
    if errors:
        raise server.ApiProblem(422, {"detail": errors[0], "findings": check["findings"]})


def latest(api, order, host):
    """The last boot of a host: by its name, or else by the address of its BMC. None if there is none."""
    address = (order.get("bmc") or {}).get("address")
    if host is None and address is None:
        return None
    found = None
    for boot in api.pages("/v1/boots", "boots", {} if host is None else {"host": host}):
        if host is not None or boot["bmc"]["address"] == address:
            found = boot
    return found


def settled(boot, order):
    """Whether a host needs no other boot."""
    if boot is None or ("image" in order and boot["image"] != order["image"]):
        return False
    # A host whose boot is unknown may be running from the medium.
    return boot["state"] in ["booted", "queued", "running", "unknown"]


def start(module, api):
    order = image_request.request(module.params, SETTINGS)
    before = {host: latest(api, order, host) for host in hosts(api, order)}
    needed = [host for host, boot in before.items() if module.params["force"] or not settled(boot, order)]
    boots = [boot for host, boot in before.items() if host not in needed]
    findings = []
    # All hosts in one request, of which the server begins all boots or none.
    orders = [order] if len(needed) == len(before) else [{**order, "host": host} for host in needed]
    if module.check_mode:
        for one in orders if needed else []:
            refuse_mistakes(api, one)
        return {"changed": bool(needed), "boots": boots}
    result = {"changed": False, "boots": boots, "findings": findings}
    with server.keeping(result):
        for one in orders if needed else []:
            begun = api.request("POST", "/v1/boots", body=one).body
            result["changed"] = True
            boots += begun["boots"]
            findings += begun["findings"]
        if module.params["state"] == "booted":
            forgotten = wait(module, api, result, lambda boot: boot["state"] not in UNDER_WAY)
            if forgotten:
                raise server.Failure(f"the server no longer knows {', '.join(map(path, forgotten))}: deleted meanwhile", result)
            # With eject=when-booted, the boot ends with the medium out, and its state is another one.
            fail_if_any(result, [boot for boot in boots if boot["state"] != "booted" and not has_booted(boot)])
    return result


def fail_if_any(result, bad):
    if bad:
        raise server.Failure("\n".join(map(describe, bad)), result)


def has_booted(boot):
    return any(step["step"] == "booted" and step["state"] == "done" for step in boot["steps"])


def describe(boot):
    reasons = [f"{step['step']}: {step['error']}" for step in boot["steps"] if step.get("error")]
    details = [step.get("detail") for step in boot["steps"] if step["state"] == "unknown"]
    reasons += [detail for detail in details if detail]
    name = boot.get("host") or boot["bmc"]["address"]
    return f"{name}: the boot {boot['id']} is {boot['state']}. " + " ".join(reasons)


def stop(module, api):
    boots = to_stop(module, api)
    if module.check_mode:
        return {"changed": bool(boots), "boots": boots}
    query = {"power_off": "true"} if module.params["power_off"] else None
    result = {"changed": False, "boots": []}
    with server.keeping(result):
        for boot in boots:
            answer = api.delete(path(boot), query)
            if answer is None:
                continue
            result["changed"] = True
            # Without a body, the boot has ended meanwhile, and the server has forgotten it. The record from before may show that an
            # earlier attempt to eject the medium has failed: only the answer shows this one.
            if answer.body is not None:
                result["boots"].append(answer.body)
        wait(module, api, result, lambda boot: boot["state"] == "ejected" or has_failed_to_eject(boot))
        fail_if_any(result, [boot for boot in result["boots"] if boot["state"] != "ejected"])
    return result


def to_stop(module, api):
    """The boots that still have their medium inserted, or may insert it."""
    if module.params["id"] is not None:
        boot = api.find(f"/v1/boots/{server.segment(module.params['id'])}")
        boots = [] if boot is None else [boot]
    else:
        order = image_request.request(module.params, SETTINGS)
        boots = [latest(api, order, host) for host in hosts(api, order)]
    return [boot for boot in boots if boot is not None and (boot["inserted"] or not boot["ended"])]


def has_failed_to_eject(boot):
    """Whether the server has given up. Such a boot does not end, so that it can be deleted again."""
    return any(step["step"] == "ejected" and step["state"] == "failed" for step in boot["steps"])


def path(boot):
    return f"/v1/boots/{server.segment(boot['id'])}"


def wait(module, api, result, is_over):
    """Waits until all boots of the result are over. The result then has them as they are.

    Returns those that the server has forgotten, which are no longer in the result: somebody has deleted them, too.
    """
    forgotten = []
    interval = max(0.1, module.params["poll_interval"])
    deadline = time.monotonic() + module.params["wait_timeout"]
    boots = result["boots"]
    while True:
        for boot in [boot for boot in boots if not is_over(boot)]:
            now = api.patiently(api.find, path(boot), deadline, interval)
            if now is None:
                boots.remove(boot)
                forgotten.append(boot)
            else:
                boots[boots.index(boot)] = now
        waiting = [boot for boot in boots if not is_over(boot)]
        if not waiting:
            return forgotten
        if time.monotonic() > deadline:
            names = ", ".join(boot.get("host") or boot["id"] for boot in waiting)
            raise server.Failure(f"not over after {module.params['wait_timeout']} s: {names}. The server goes on", result)
        time.sleep(interval)


def main() -> None:
    spec = {
        "state": {"type": "str", "choices": ["booted", "started", "absent"], "default": "booted"},
        "id": {"type": "str"},
        "image": {"type": "str"},
        "bmc": {
            "type": "dict",
            "options": {
                "address": {"type": "str"},
                "credentials": {"type": "str"},
                "disable_certificate_verification": {"type": "bool"},
            },
        },
        "force": {"type": "bool", "default": False},
        "wait_for": {
            "type": "list",
            "elements": "str",
            "choices": ["call-home", "reachable", "boot-progress", "reading"],
        },
        "booted_within": {"type": "int"},
        "shutdown_within": {"type": "int"},
        "eject": {"type": "str", "choices": ["when-deleted", "when-booted"]},
        "power_off": {"type": "bool"},
        "wait_timeout": {"type": "int", "default": 3600},
        "poll_interval": {"type": "float", "default": 5},
        **image_request.argument_spec(),
        **server.argument_spec(),
    }
    module = quiet.Module(
        argument_spec=spec,
        mutually_exclusive=[*image_request.MUTUALLY_EXCLUSIVE, ("image", "base")],
        required_if=[
            ("state", "absent", ("id", "documents", "document_files", "bmc"), True),
            ("state", "booted", ("image", "base"), True),
            ("state", "started", ("image", "base"), True),
        ],
        supports_check_mode=True,
    )
    server.run(module, stop if module.params["state"] == "absent" else start)


if __name__ == "__main__":
    main()
