# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

"""The options that say where the API is."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  api_url:
    description:
      - The URL of the API, without C(/v1).
      - If absent, the environment variable E(DAYONE_URL), or V(http://127.0.0.1:8080).
    type: str
  api_token:
    description:
      - The token of the API, if it needs one.
      - If absent, the environment variable E(DAYONE_API_TOKEN).
    type: str
  validate_certs:
    description: Whether to verify the certificate of the API.
    type: bool
    default: true
  ca_path:
    description: A file (PEM) with the certificate authorities that the certificate of the API is verified with.
    type: path
  use_proxy:
    description: Whether to use the proxies of the environment. Modules always reach a server on a loopback address directly.
    type: bool
    default: true
  timeout:
    description: How long the API may take for an answer, in seconds.
    type: int
    default: 60
notes:
  - The module runs where the API can be reached. Use C(delegate_to) or C(connection=local) for the controller.
"""
