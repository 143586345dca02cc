"""Documents from files and from web servers, of which some misbehave."""

from __future__ import annotations

import contextlib
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from kcompat.security.bearer.documents import LARGEST_DOCUMENT, fetcher, shown
from support.tls_authority import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OVER = threading.Event()


class Answers(BaseHTTPRequestHandler):
    """A web server that moves, breaks off, sends too much or takes too long, as the path asks for."""

    def do_GET(self) -> None:
        with contextlib.suppress(OSError):
            self.answer()

    def answer(self) -> None:
        match self.path:
            case "/moved":
                self.send_response(302)
                self.send_header("Location", "/keys")
                self.end_headers()
            case "/broken":
                self.wfile.write(b"no HTTP\r\n\r\n")
            case "/missing":
                self.send_error(404)
            case "/large":
                self.begin()
                self.wfile.write(bytes(LARGEST_DOCUMENT + 1))
            case "/slow":
                self.begin()
                while not OVER.wait(0.01):
                    self.wfile.write(b" ")
            case _:
                self.begin()
                self.wfile.write(b"{}")

    def begin(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write no log."""


@pytest.fixture
def server() -> Iterator[str]:
    OVER.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        OVER.set()
        serving.shutdown()
        thread.join()


def test_a_document_comes_from_a_file_or_a_web_server(server: str, tmp_path: Path) -> None:
    path = tmp_path / "key set.json"
    path.write_bytes(b"[]")
    assert fetcher(path.as_uri())() == b"[]"
    assert fetcher(f"{server}/keys")() == b"{}"


@pytest.mark.parametrize(
    ("path", "reason"),
    [("moved", "302"), ("broken", "not HTTP"), ("missing", "404"), ("large", "more than")],
)
def test_what_a_web_server_does_wrong_is_an_error(server: str, path: str, reason: str) -> None:
    with pytest.raises(OSError, match=reason):
        fetcher(f"{server}/{path}")()


def test_a_document_that_does_not_end_is_given_up(server: str) -> None:
    with pytest.raises(TimeoutError):
        fetcher(f"{server}/slow", timeout_s=0.2)()


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_web_server_with_tls_must_be_trusted(is_trusted: bool) -> None:
    ours, other = Authority(), Authority()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.broker.configure_cert(context)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as serving:
        serving.socket = context.wrap_socket(serving.socket, server_side=True)
        thread = threading.Thread(target=serving.serve_forever, args=[0.01])
        thread.start()
        try:
            url = f"https://127.0.0.1:{serving.server_port}/keys"
            fetch = fetcher(url, (ours if is_trusted else other).client_context)
            if is_trusted:
                assert fetch() == b"{}"
            else:
                with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
                    fetch()
        finally:
            serving.shutdown()
            thread.join()


def test_a_file_that_is_missing_or_too_large_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    with pytest.raises(FileNotFoundError):
        fetcher(path.as_uri())()
    path.write_bytes(bytes(LARGEST_DOCUMENT + 1))
    with pytest.raises(OSError, match="more than"):
        fetcher(path.as_uri())()


@pytest.mark.parametrize(
    "url", ["", "keys.json", "ftp://host/keys", "https:///keys", "file://host/keys", "file:"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="are supported"):
        fetcher(url)


def test_the_log_shows_no_secret_of_a_url() -> None:
    assert shown("https://me:secret@id.example:8443/keys?token=secret") == "https://id.example:8443/keys"
