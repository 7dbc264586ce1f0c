#!/usr/bin/python
# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

DOCUMENTATION = r"""
module: image
short_description: Make and delete boot images of dayone
version_added: 0.2.0
description:
  - Makes the boot image of a host on a C(dayone serve), with the host's network, or deletes an image.
  - The same options always give the same image with the same URL, so that a task that runs again changes nothing.
author: The authors of dayone (@dayone)
options:
  state:
    description: Whether the image is there.
    type: str
    choices: [present, absent]
    default: present
  id:
    description: The id of the image to delete.
    type: str
  data:
    description: What is on a data image, besides the host's network and its name. Contents are in base64.
    type: dict
    suboptions:
      kind:
        description: Whom it is for.
        type: str
        choices: [config-2, cidata, combustion]
        required: true
      file_system:
        description: Its file system. The server's default is V(iso).
        type: str
        choices: [iso, vfat]
      user_data:
        description: The user data, or the script of V(combustion).
        type: str
      meta_data:
        description: The meta data.
        type: str
      network_data:
        description: The network data, instead of documents.
        type: str
      vendor_data:
        description: The vendor data.
        type: str
      publisher:
        description: The publisher of the ISO of V(config-2).
        type: str
extends_documentation_fragment:
  - dayone.dayone.request
  - dayone.dayone.server
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details:
      - The server makes the image and stores nothing, so that mistakes in the documents are found.
      - For V(minimal-iso), whose root file system the server provides, it finds no more than these mistakes, and reports a change.
  diff_mode:
    support: none
  platform:
    support: full
    platforms: all
seealso:
  - module: dayone.dayone.boot
  - module: dayone.dayone.base_info
"""

EXAMPLES = r"""
- name: Make the image of a host from its documents
  dayone.dayone.image:
    api_url: http://192.0.2.10:8080
    api_token: "{{ dayone_token }}"
    base: coreos
    documents: "{{ lookup('ansible.builtin.file', 'hosts/worker-0.yaml') }}"
    kernel_arguments:
      append: [console=ttyS0]
  register: image

- name: Have the BMC insert it
  community.general.redfish_command:
    category: Manager
    command: VirtualMediaInsert
    baseuri: "{{ bmc_address }}"
    username: "{{ bmc_user }}"
    password: "{{ bmc_password }}"
    virtual_media:
      image_url: "{{ image.image.url }}"
  no_log: true

- name: Make an image from NMState in the inventory
  dayone.dayone.image:
    base: coreos
    hostname: "{{ inventory_hostname }}"
    nmstate: "{{ nmstate }}"
  delegate_to: localhost

- name: Delete an image
  dayone.dayone.image:
    state: absent
    id: "{{ image.image.id }}"
"""

RETURN = r"""
image:
  description:
    - The image, as in the answer of the API. Its URLs are credentials, so that anyone who has one can read the image.
    - In check mode, only the members that the API lists, and nothing for a new image.
  returned: if the image is there
  type: dict
  contains:
    id:
      description: The image's id, the SHA-256 of its content.
      type: str
      sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    url:
      description: The URL for the BMC.
      type: str
      sample: http://192.0.2.10:8081/i/uws2ljnfuws2ljnfuws2ljnfuw/boot.iso
    size:
      description: The length in bytes.
      type: int
    findings:
      description: Warnings about the image, and about the documents.
      type: list
      elements: dict
problem:
  description: Why the server has refused the request (RFC 9457), with C(findings).
  returned: if the server has refused the request
  type: dict
"""

from ansible_collections.dayone.dayone.plugins.module_utils import api as server
from ansible_collections.dayone.dayone.plugins.module_utils import quiet
from ansible_collections.dayone.dayone.plugins.module_utils import image_request


def data_spec():
    contents = {"type": "str", "no_log": True}
    return {
        "kind": {"type": "str", "required": True, "choices": ["config-2", "cidata", "combustion"]},
        "file_system": {"type": "str", "choices": ["iso", "vfat"]},
        "user_data": contents,
        "meta_data": contents,
        "network_data": contents,
        "vendor_data": contents,
        "publisher": {"type": "str"},
    }


def present(module, api):
    order = image_request.request(module.params, ["data"])
    if module.check_mode:
        return would_be(api, order)
    answer = api.request("POST", "/v1/images", body=order)
    return {"changed": answer.status == 201, "image": answer.body}


def would_be(api, order):
    """What would change. The server makes the image, and stores nothing if a client asks for the image itself."""
    try:
        answer = api.request("POST", "/v1/images", body=order, accept="application/octet-stream")
    except server.ApiProblem as problem:
        # A root file system of the server's has a URL only as long as the image is stored.
        if problem.kind == "image-refused" and order.get("format") == "minimal-iso" and not order.get("rootfs_url"):
            return {"changed": True}
        raise
    etag = answer.headers.get("ETag")
    for image in api.pages("/v1/images", "images"):
        if image.get("etag") == etag and image["format"] == (order.get("format") or default_format(order)):
            return {"changed": False, "image": image}
    return {"changed": True}


def default_format(order):
    return "data" if "data" in order else "iso"


def absent(module, api):
    path = f"/v1/images/{server.segment(module.params['id'])}"
    if api.find(path) is None:
        return {"changed": False}
    if not module.check_mode:
        api.delete(path)
    return {"changed": True}


def main() -> None:
    spec = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "id": {"type": "str"},
        "data": {"type": "dict", "options": data_spec()},
        **image_request.argument_spec(),
        **server.argument_spec(),
    }
    module = quiet.Module(
        argument_spec=spec,
        mutually_exclusive=image_request.MUTUALLY_EXCLUSIVE,
        required_if=[
            ("state", "absent", ("id",)),
            ("state", "present", ("documents", "document_files", "nmstate", "data"), True),
        ],
        supports_check_mode=True,
    )
    server.run(module, present if module.params["state"] == "present" else absent)


if __name__ == "__main__":
    main()
