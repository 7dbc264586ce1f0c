# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

"""The options of what goes into an image."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  base:
    description: The name of the base. M(dayone.dayone.base_info) lists them. Every image but a data image needs one.
    type: str
  format:
    description: What to make. The server's default is V(iso).
    type: str
    choices: [iso, minimal-iso, usb, initrd, data]
  documents:
    description:
      - The host's documents as YAML or JSON, such as NMState, or a BareMetalHost with its Secrets.
      - They may hold passwords. Ansible does not log them.
    type: str
  document_files:
    description:
      - The host's documents as files with names, for documents that dayone recognizes by their file name.
      - Not with O(documents).
    type: list
    elements: dict
    suboptions:
      name:
        description: The name of the file, with the directories that matter.
        type: str
        required: true
      text:
        description: The content of the file.
        type: str
        required: true
  nmstate:
    description:
      - The host's NMState. Not with O(documents).
      - It may hold passwords. Ansible does not log it.
    type: dict
  host:
    description: The host, by its name or a MAC address, if the documents describe several hosts.
    type: str
  hostname:
    description: The host name to set. It overrides the documents.
    type: str
  ssh_authorized_keys:
    description: SSH public keys for the user C(core). CoreOS bases only.
    type: list
    elements: str
  kernel_arguments:
    description: Changes to the kernel arguments.
    type: dict
    suboptions:
      append:
        description: Arguments to append.
        type: list
        elements: str
      delete:
        description: Arguments to remove, with their values.
        type: list
        elements: str
      replace:
        description: Values to change, as C(KEY=OLD=NEW).
        type: list
        elements: str
  boot_entries:
    description: The titles of the boot entries to change. All of them, if absent.
    type: list
    elements: str
  profile:
    description: How the system receives the additions, if its initramfs does not show that.
    type: str
  rootfs_url:
    description: The URL from which the host fetches its root file system, for formats without one.
    type: str
  replace_embedded:
    description: Whether dayone may replace files that somebody has embedded in the base.
    type: bool
  auto_default:
    description: Whether NICs that the documents do not mention may come up with DHCP.
    type: bool
  ignition:
    description:
      - Your own Ignition config (version 3), which dayone merges with the image's. CoreOS bases only.
      - It may hold passwords. Ansible does not log it.
    type: dict
  answers:
    description: The answer file of an installer. dayone completes it with the host's network, which the installed system gets.
    type: dict
    suboptions:
      kind:
        description: The kind of the file.
        type: str
        choices: [preseed, kickstart, autoinstall, agama]
        required: true
      text:
        description:
          - The file's text.
          - It may hold passwords. Ansible does not log it.
        type: str
        required: true
  files:
    description: Files to add to the system.
    type: list
    elements: dict
    suboptions:
      path:
        description: Where the file goes, absolute.
        type: str
        required: true
      contents:
        description: The content in base64.
        type: str
        required: true
      mode:
        description: Permission bits, octal. The server's default is V(0644).
        type: str
      user:
        description: The number of the user that owns the file.
        type: int
      group:
        description: The number of the group that owns the file.
        type: int
"""
