#!/usr/bin/python
# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

DOCUMENTATION = r"""
module: base
short_description: Add, replace and remove base images of dayone
version_added: 0.2.0
description:
  - Adds a base to a running C(dayone serve), replaces one, or removes one. The server fetches the files and verifies them.
  - If a base of the name was added before, the new one replaces it. Images that exist keep the old one, until nobody uses them.
author: The authors of dayone (@dayone)
options:
  name:
    description: The name of the base.
    type: str
    required: true
  state:
    description: Whether the base is there.
    type: str
    choices: [present, absent]
    default: present
  files:
    description:
      - The files of the base by their roles, V(iso), or V(initrd) with V(kernel), V(rootfs) and boot loaders.
      - Each has a C(url) with a C(sha256), a C(signature) or both, or a C(path) on the server, which needs neither. Give C(sha256) to make
        a task that runs again change nothing; a file without one is read again to see whether it has changed.
    type: dict
  profile:
    description: The delivery profile, if the initramfs does not show it.
    type: str
  wait:
    description: Whether to wait until the base is available.
    type: bool
    default: true
  wait_timeout:
    description: How long to wait, in seconds.
    type: int
    default: 3600
extends_documentation_fragment:
  - dayone.dayone.server
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details:
      - The server fetches nothing, so that it is not known whether the files can be fetched.
  diff_mode:
    support: none
  platform:
    support: full
    platforms: all
seealso:
  - module: dayone.dayone.base_info
  - module: dayone.dayone.image
"""

EXAMPLES = r"""
- name: Add a release of Fedora CoreOS, or replace the one before
  dayone.dayone.base:
    api_url: http://192.0.2.10:8080
    api_token: "{{ dayone_token }}"
    name: fcos
    files:
      iso:
        url: https://images.example.com/fedora-coreos-live.x86_64.iso
        sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

- name: Add the Ironic Python agent
  dayone.dayone.base:
    name: ipa
    files:
      kernel: {path: /srv/images/ipa.kernel}
      initrd: {path: /srv/images/ipa.initramfs}

- name: Remove a base that no image uses
  dayone.dayone.base:
    name: ipa
    state: absent
"""

RETURN = r"""
base:
  description: The base, as in the answer of the API.
  returned: if the base is there
  type: dict
  contains:
    name:
      description: The base's name.
      type: str
      sample: fcos
    state:
      description: V(available), or V(unavailable) while the server fetches the first version of it.
      type: str
      sample: available
    identity:
      description: The identity of the base, which changes with its bytes.
      type: str
      returned: if the base is available
    images:
      description: How many published images use it.
      type: int
problem:
  description: Why the server has refused the request (RFC 9457).
  returned: if the server has refused the request
  type: dict
"""

import time

from ansible_collections.dayone.dayone.plugins.module_utils import api as server
from ansible_collections.dayone.dayone.plugins.module_utils import quiet

# How often to look whether the base is available, in seconds.
INTERVAL = 1


def present(module, api):
    name, files, profile = (module.params[key] for key in ("name", "files", "profile"))
    path = f"/v1/bases/{server.segment(name)}"
    before = api.find(path)
    if module.check_mode:
        changed = not has(before, files)
        return {"changed": changed} if before is None else {"changed": changed, "base": before}
    order = {"name": name, **files}
    if profile is not None:
        order["profile"] = profile
    answer = api.request("POST", "/v1/bases", body=order)
    base = answer.body
    if module.params["wait"]:
        base = wait(api, path, base, module.params["wait_timeout"])
        return {"changed": version(base) != version(before), "base": base}
    return {"changed": answer.status == 202, "base": base}


def has(base, files):
    """Whether a base has these files already, as far as their digests show."""
    known = (base or {}).get("files", {})
    if set(known) != set(files):
        return False
    return all(isinstance(file, dict) and file.get("sha256") == known[role]["sha256"] for role, file in files.items())


def version(base):
    """Which of all added bases this is. A base with the files of the one before it keeps its version."""
    return (base or {}).get("version")


def wait(api, path, base, limit):
    deadline = time.monotonic() + limit
    while base is not None and base.get("fetch"):
        fetch = base["fetch"]
        if fetch["state"] == "failed":
            raise server.Failure(f"the server cannot fetch the base: {fetch.get('error')}", {"base": base})
        if time.monotonic() > deadline:
            raise server.Failure(f"the server is still fetching the base after {limit} seconds: {fetch}", {"base": base})
        time.sleep(INTERVAL)
        base = api.patiently(api.find, path, deadline, INTERVAL)
    if base is None:
        raise server.Failure("somebody has removed the base meanwhile", {})
    if base["state"] != "available":
        raise server.Failure(f"the base is not available: {base.get('reason')}", {"base": base})
    return base


def absent(module, api):
    path = f"/v1/bases/{server.segment(module.params['name'])}"
    if api.find(path) is None:
        return {"changed": False}
    if not module.check_mode:
        api.delete(path)
    return {"changed": True}


def main() -> None:
    spec = {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "files": {"type": "dict"},
        "profile": {"type": "str"},
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 3600},
        **server.argument_spec(),
    }
    module = quiet.Module(
        argument_spec=spec,
        required_if=[("state", "present", ("files",))],
        supports_check_mode=True,
    )
    server.run(module, present if module.params["state"] == "present" else absent)


if __name__ == "__main__":
    main()
