"""A client of the control port, made of Python's own HTTP client."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlencode, urlsplit

from support.eventually import limit_s


class ControlClient:
    """Requests to the control port at one URL, each on a connection of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._address = urlsplit(url).netloc

    def get(self, path: str, **query: Any) -> Any:
        """Return the answer to a GET that is served."""
        return self._served("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, **body: Any) -> Any:
        """Return the answer to a POST that is served."""
        return self._served("POST", path, body)

    def delete(self, path: str) -> Any:
        """Return the answer to a DELETE that is served."""
        return self._served("DELETE", path)

    def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Return the status of a request that is refused, and the sentence that says why."""
        status, headers, answer = self.ask(method, path, None if body is None else json.dumps(body).encode())
        assert headers["content-type"] == "application/problem+json", answer
        problem = json.loads(answer)
        assert problem["status"] == status >= 400
        return status, problem["detail"]

    def send(
        self, method: str, path: str, parameters: dict[str, Any]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Return status, headers and body of the answer to a request with parameters where its method wants
        them.
        """
        if method == "POST":
            return self.ask(method, path, json.dumps(parameters).encode())
        return self.ask(method, f"{path}?{urlencode(parameters)}")

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Return status, headers and body of the answer to any request."""
        connection = http.client.HTTPConnection(self._address, timeout=limit_s(60))
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def _served(self, method: str, path: str, body: Any = None) -> Any:
        status, _, answer = self.ask(method, path, None if body is None else json.dumps(body).encode())
        assert 200 <= status < 300, answer.decode()
        return json.loads(answer) if answer else None
