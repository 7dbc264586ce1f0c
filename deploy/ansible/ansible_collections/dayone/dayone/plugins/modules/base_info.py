#!/usr/bin/python
# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

DOCUMENTATION = r"""
module: base_info
short_description: List the base images of dayone
version_added: 0.2.0
description:
  - Lists the bases of images of a C(dayone serve), and what dayone can make from each of them.
author: The authors of dayone (@dayone)
options:
  name:
    description: The name of one base. If there is none of this name, the list is empty.
    type: str
extends_documentation_fragment:
  - dayone.dayone.server
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    support: full
    platforms: all
"""

EXAMPLES = r"""
- name: List the bases
  dayone.dayone.base_info:
    api_url: http://192.0.2.10:8080
  register: bases

- name: Stop if a base is not available
  ansible.builtin.assert:
    that: bases.bases | rejectattr('state', 'equalto', 'available') | length == 0
"""

RETURN = r"""
bases:
  description: The bases, ordered by name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The base's name.
      type: str
      sample: coreos
    state:
      description: V(available) or V(unavailable).
      type: str
      sample: available
    reason:
      description: Why the base is not available.
      type: str
      returned: if the base is not available
    kind:
      description: V(coreos-iso), V(live-iso), V(iso) or V(kernel-initrd).
      type: str
      returned: if the base is available
    formats:
      description: The formats that dayone can make from it.
      type: list
      elements: str
      returned: if the base is available
"""

from ansible_collections.dayone.dayone.plugins.module_utils import api as server
from ansible_collections.dayone.dayone.plugins.module_utils import quiet


def bases(module, api):
    name = module.params["name"]
    if name is None:
        found = api.get("/v1/bases")["bases"]
    else:
        base = api.find(f"/v1/bases/{server.segment(name)}")
        found = [] if base is None else [base]
    return {"changed": False, "bases": found}


def main() -> None:
    spec = {"name": {"type": "str"}, **server.argument_spec()}
    server.run(quiet.Module(argument_spec=spec, supports_check_mode=True), bases)


if __name__ == "__main__":
    main()
