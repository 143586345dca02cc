"""Building wheels and source distributions: their metadata, their commit, their tags."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from hatch_build import commit_file, platform
from hatch_metadata import VARIABLE, MetadataHook, long_description
from release.build import BuildError, check_tag
from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

REPOSITORY_URL = "https://example.com/people/kcompat"
SOURCE = f"{REPOSITORY_URL}/blob/v1.2"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
VERSION = PROJECT["project"]["version"]


@pytest.mark.parametrize(
    ("written", "with_source", "without"),
    [
        ("[a\nb](docs/x.md#y)", f"[a\nb]({SOURCE}/docs/x.md#y)", "a\nb"),
        ("[a](https://example.org/b)", "[a](https://example.org/b)", "[a](https://example.org/b)"),
        ("[a](#b)", "[a](#b)", "[a](#b)"),
        ("a\n<!-- hidden python\nx = 1\n-->\nb", "a\nb", "a\nb"),
    ],
)
def test_links_of_the_long_description(written: str, with_source: str, without: str) -> None:
    assert long_description(written, SOURCE) == with_source
    assert long_description(written, "") == without


def table(monkeypatch: pytest.MonkeyPatch, repository: str) -> tuple[str, dict[str, str]]:
    monkeypatch.setenv(VARIABLE, repository)
    fields: dict[str, object] = {"version": "1.2"}
    MetadataHook(str(REPOSITORY), {}).update(fields)
    readme, urls = fields["readme"], fields["urls"]
    assert isinstance(readme, dict)
    assert isinstance(urls, dict)
    return readme["text"], urls


def test_all_links_of_the_readme_lead_out_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text, urls = table(monkeypatch, REPOSITORY_URL)
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert f"{SOURCE}/docs/index.md" in links
    assert not [link for link in [*links, *urls.values()] if not link.startswith("https://")]


def test_without_an_address_there_are_no_links_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text, urls = table(monkeypatch, "")
    assert urls == {}
    assert not re.findall(r"\]\((?!https:)", text)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree without a history, for builds that are told their commit."""
    monkeypatch.setenv("KCOMPAT_COMMIT", "0123456789ab")
    (tmp_path / "kcompat").mkdir()
    (tmp_path / "kcompat" / "cli").symlink_to(REPOSITORY / "kcompat" / "cli")
    return tmp_path


def test_a_build_writes_the_commit_that_it_is_told(tree: Path) -> None:
    assert commit_file(tree, tree) == {str(tree / "commit.txt"): "kcompat/commit.txt"}
    assert (tree / "commit.txt").read_text() == "0123456789ab\n"


def test_a_build_of_a_source_distribution_keeps_its_commit(tree: Path) -> None:
    (tree / "kcompat" / "commit.txt").write_text("ba9876543210\n")
    assert commit_file(tree, tree) == {}


def test_a_build_whose_commit_is_unknown_names_none(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KCOMPAT_COMMIT")
    assert commit_file(tree, tree) == {}


def test_the_platform_is_the_one_that_the_compiler_was_told() -> None:
    assert re.fullmatch(r"(linux|macosx_\d+_\d+|\w*bsd)_\w+", platform())
    code = "import sys; sys.platform = 'darwin'; from hatch_build import platform; print(platform())"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={"_PYTHON_HOST_PLATFORM": "macosx-11.0-arm64"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "macosx_11_0_arm64\n"


def test_a_tag_is_the_version() -> None:
    check_tag(f"v{VERSION}")
    with pytest.raises(BuildError, match=rf"^the tag v9 is not v{re.escape(VERSION)}: set the version"):
        check_tag("v9")


def test_the_image_has_the_version_of_the_package() -> None:
    assert f"ARG VERSION={VERSION}\n" in (REPOSITORY / "image" / "Dockerfile").read_text()


def test_wheels_are_tested_with_the_client_of_the_tests() -> None:
    assert PROJECT["tool"]["cibuildwheel"]["test-requires"] in PROJECT["dependency-groups"]["interop"]
