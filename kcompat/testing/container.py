"""The container image of kcompat as a module for Testcontainers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from testcontainers.community.kafka import KafkaContainer

if TYPE_CHECKING:
    from typing import Self


class KcompatContainer(KafkaContainer):
    """Testcontainers' `KafkaContainer` with the image of kcompat, and all of its methods.

        with KcompatContainer() as broker:
            producer = KafkaProducer(bootstrap_servers=broker.get_bootstrap_server())

    `image` is the name that the image was built with.
    """

    def __init__(self, image: str = "kcompat", **settings: Any) -> None:
        super().__init__(image, **settings)

    def with_kraft(self) -> Self:
        """Configure the container by the variables of a KRaft node, whatever the image's tag; the parent
        class requires certain tags.
        """
        self.kraft_enabled = True
        return self
