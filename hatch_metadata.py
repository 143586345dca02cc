"""Writes the metadata that depends on where a release is made: the project's URLs, and the long description,
which is README.md with links that lead somewhere from the page of a package index.

The environment variable KCOMPAT_REPOSITORY is the address of the repository, without a slash at its end, on
a host with GitHub's paths. The release workflow sets it. Without it the metadata has no URLs, and links into
the repository become plain text. A wheel that is built from a source distribution has the metadata of that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "KCOMPAT_REPOSITORY"

_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)\s]+)\)")
_COMMENT = re.compile(r"<!--.*?-->\n", re.DOTALL)


class MetadataHook(MetadataHookInterface):
    """Sets `readme` and `urls` of the project table."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both fields for the version that the table has."""
        repository = os.environ.get(VARIABLE, "")
        source = f"{repository}/blob/v{metadata['version']}" if repository else ""
        text = long_description(Path(self.root, "README.md").read_text(), source)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = project_urls(repository, source) if repository else {}


def long_description(readme: str, source: str) -> str:
    """Return the README without the comments for its tests, and with each relative link made absolute.

    `source` is the address of the files of the release; if it is empty, only the text of a link stays.
    """
    plain = _COMMENT.sub("", readme)
    return _LINK.sub(rf"[\1]({source}/\2)" if source else r"\1", plain)


def project_urls(repository: str, source: str) -> dict[str, str]:
    """Return the links that an index shows beside the description, by the labels that it knows."""
    return {
        "Source": repository,
        "Documentation": f"{source}/docs/index.md",
        "Changelog": f"{source}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
