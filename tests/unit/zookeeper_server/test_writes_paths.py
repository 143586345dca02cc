from __future__ import annotations

import pytest

from kcompat.zookeeper_server.writes import is_path


@pytest.mark.parametrize("path", ["/", "/a", "/a/b", "/a.b/..c/...", "/.a", "/ä/€", "/a b", "/\u00a0"])
def test_paths(path: str) -> None:
    assert is_path(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a/b",
        "//",
        "/a/",
        "/a//b",
        "/.",
        "/..",
        "/a/./b",
        "/a/..",
        "/a\0",
        "/\x1f",
        "/\x7f",
        "/\x9f",
        "/\ue000",
        "/\ufff0",
        "/\uffff",
        "/\U0001f600",
    ],
)
def test_texts_that_are_none(text: str) -> None:
    assert not is_path(text)
