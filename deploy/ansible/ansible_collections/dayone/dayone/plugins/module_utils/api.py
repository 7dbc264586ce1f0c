# Copyright: the authors of dayone
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

"""A client of dayone's API for modules."""

from __future__ import annotations

import ipaddress
import json
import time
import typing as t
from contextlib import contextmanager
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit

from ansible.module_utils.basic import env_fallback
from ansible.module_utils.common.text.converters import to_text
from ansible.module_utils.urls import ConnectionError as UrlsConnectionError
from ansible.module_utils.urls import open_url

DEFAULT_URL = "http://127.0.0.1:8080"


def argument_spec() -> dict[str, t.Any]:
    """Returns the options that say where the API is."""
    return {
        "api_url": {"type": "str", "fallback": (env_fallback, ["DAYONE_URL"])},
        "api_token": {"type": "str", "no_log": True, "fallback": (env_fallback, ["DAYONE_API_TOKEN"])},
        "validate_certs": {"type": "bool", "default": True},
        "ca_path": {"type": "path"},
        "use_proxy": {"type": "bool", "default": True},
        "timeout": {"type": "int", "default": 60},
    }


class ApiError(Exception):
    """A request without the answer that it asked for."""

    # Whether the same request may succeed later: the server restarts, or has no time.
    passes = True
    # How long the server asks its client to wait, in seconds.
    retry_after = 0

    def message(self) -> str:
        """The reason."""
        return str(self)

    def details(self) -> dict[str, t.Any]:
        """What a module's result says besides."""
        return {}


class ApiUnreachable(ApiError):
    """No answer."""


class ApiProblem(ApiError):
    """An answer that refuses a request: problem details (RFC 9457)."""

    def __init__(self, status: int, body: dict[str, t.Any], retry_after: str = "") -> None:
        self.status = status
        self.body = body
        self.passes = status == 429 or status >= 500
        # A date, which some proxies send, is not read.
        self.retry_after = int(retry_after[:9]) if retry_after.isdecimal() else 0
        super().__init__(body.get("detail") or body.get("title") or f"status {status}")

    @property
    def kind(self) -> str:
        """The stable name, such as C(documents-refused)."""
        return str(self.body.get("type", "")).rsplit("/", 1)[-1]

    @property
    def findings(self) -> list[dict[str, t.Any]]:
        """The mistakes in the documents."""
        return self.body.get("findings") or []

    def message(self) -> str:
        """The reason, with the mistakes in the documents."""
        lines = [str(self)]
        for finding in self.findings:
            lines.append(f"{finding.get('severity')}: {finding.get('message')} Fix: {finding.get('fix')}")
        return "\n".join(lines)

    def details(self) -> dict[str, t.Any]:
        """The answer itself."""
        return {"problem": self.body}


class Failure(Exception):
    """What was asked for has not come about. The result of the module says how far it came."""

    def __init__(self, message: str, result: dict[str, t.Any]) -> None:
        super().__init__(message)
        self.result = result


@contextmanager
def keeping(result: dict[str, t.Any]) -> t.Iterator[None]:
    """Makes an error of the API a failure whose result says what has been done before it."""
    try:
        yield
    except ApiError as error:
        raise Failure(error.message(), {**result, **error.details()}) from None


class Answer(t.NamedTuple):
    """What the server has answered, without an error."""

    status: int
    headers: t.Mapping[str, str]
    body: t.Any


class Api:
    """The API that the options of a module name."""

    def __init__(self, module: t.Any) -> None:
        self._parameters = module.params
        self._origin = (self._parameters["api_url"] or DEFAULT_URL).rstrip("/")

    def get(self, path: str, query: dict[str, t.Any] | None = None) -> t.Any:
        """Returns the body of a resource."""
        return self.request("GET", path, query=query).body

    def find(self, path: str) -> t.Any:
        """Returns the body of a resource, or None if there is none."""
        try:
            return self.get(path)
        except ApiProblem as problem:
            if problem.kind == "not-found":
                return None
            raise

    def delete(self, path: str, query: dict[str, t.Any] | None = None) -> Answer | None:
        """Deletes a resource. Returns None if somebody else has deleted it."""
        try:
            return self.request("DELETE", path, query=query)
        except ApiProblem as problem:
            if problem.kind == "not-found":
                return None
            raise

    def patiently(self, ask: t.Callable[[str], t.Any], path: str, deadline: float, interval: float) -> t.Any:
        """Returns what C(ask) returns. While the server restarts or has no time, asks again until the deadline."""
        while True:
            try:
                return ask(path)
            except ApiError as error:
                pause = max(interval, error.retry_after)
                if not error.passes or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)

    def pages(self, path: str, member: str, query: dict[str, t.Any] | None = None) -> t.Iterator[t.Any]:
        """Returns the elements of all pages of a list."""
        query = dict(query or {})
        while True:
            page = self.get(path, query)
            yield from page[member]
            if not page.get("next"):
                return
            query["after"] = page["next"]

    def request(
        self,
        method: str,
        path: str,
        query: dict[str, t.Any] | None = None,
        body: t.Any = None,
        accept: str = "application/json",
    ) -> Answer:
        """Makes a request. Of an answer that is not JSON, only the headers are read."""
        url = self._origin + path + (f"?{urlencode(query, doseq=True)}" if query else "")
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = "application/json"
        # A token from a block of YAML ends with a line end. The error for such a header quotes it in a form that Ansible does not censor.
        if token := (self._parameters["api_token"] or "").strip():
            headers["Authorization"] = f"Bearer {token}"
        try:
            with open_url(
                url,
                method=method,
                data=None if body is None else json.dumps(body),
                headers=headers,
                validate_certs=self._parameters["validate_certs"],
                ca_path=self._parameters["ca_path"],
                # A proxy would reach another machine under a loopback address, and get the token.
                use_proxy=self._parameters["use_proxy"] and not _is_loopback(url),
                timeout=self._parameters["timeout"],
                http_agent="ansible dayone.dayone",
                # The API redirects nobody. Ansible would make a POST a GET, and send the token to the other server.
                follow_redirects="none",
            ) as answer:
                return Answer(answer.status, answer.headers, _read(answer, accept))
        except HTTPError as error:
            raise ApiProblem(error.code, _problem(error), error.headers.get("Retry-After") or "") from None
        except (URLError, UrlsConnectionError, HTTPException, OSError, ValueError) as error:
            raise ApiUnreachable(f"{method} {self._origin}{path}: {to_text(error)}") from None


def run(module: t.Any, work: t.Callable[[t.Any, Api], dict[str, t.Any]]) -> None:
    """Ends the module with the result of C(work), or with the reason why there is none."""
    try:
        result = work(module, Api(module))
    except ApiError as error:
        module.fail_json(msg=error.message(), **error.details())
    except Failure as failure:
        module.fail_json(msg=str(failure), **failure.result)
    else:
        module.exit_json(**result)


def segment(text: str) -> str:
    """Returns a text as one segment of a path."""
    return quote(text, safe="")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(answer: t.Any, accept: str) -> t.Any:
    if answer.status == 204 or accept != "application/json":
        return None
    content_type = answer.headers.get("Content-Type") or ""
    if not content_type.startswith("application/json"):
        raise ValueError(f"the answer is not from dayone's API: its type is {content_type or 'missing'}, not application/json")
    return json.loads(answer.read())


def _problem(error: HTTPError) -> dict[str, t.Any]:
    try:
        body = json.loads(error.read())
    except (HTTPException, OSError, ValueError):
        # A proxy between, which knows nothing of problems, or a server that has stopped meanwhile.
        body = None
    return body if isinstance(body, dict) else {"title": f"{error.code} {error.reason}"}
