"""The handlers of configurations, beside a store of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kcompat.api import alter_configs, describe_configs, incremental_alter_configs
from kcompat.cluster.control_requests import UpdateConfigs
from kcompat.cluster.image import BrokerInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.quota_entities import put_in_force
from kcompat.config.broker import BrokerConfig
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_configs import AlterConfigsRequest
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.security.quotas.clients import ClientQuotas
from kcompat.security.quotas.rates import QuotaWindow
from support.asking import context_of, services_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kcompat.api.context import RequestContext


TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


class Configs:
    """Stores at once, or answers when the test says so."""

    def __init__(self, cluster: MetadataCache) -> None:
        self._cluster = cluster
        self.error = ErrorCode.NONE
        self.held: list[Promise[ErrorCode]] | None = None
        self.refreshed: list[tuple[str, str]] = []
        self.unread: dict[tuple[str, str], Mapping[str, str]] = {}

    def replace(
        self, kind: str, name: str, configs: Mapping[str, str], basis: Mapping[str, str] | None = None
    ) -> Promise[ErrorCode]:
        promise: Promise[ErrorCode] = Promise()
        if self.held is not None:
            self.held.append(promise)
            return promise
        if self.error is ErrorCode.NONE:
            self._cluster.apply(UpdateConfigs({(kind, name): configs}))
        promise.complete(self.error)
        return promise

    def refresh(self, entities: Collection[tuple[str, str]]) -> Promise[None]:
        self.refreshed += entities
        known = {entity: configs for entity, configs in self.unread.items() if entity in entities}
        self._cluster.apply(UpdateConfigs(known))
        return Promise.resolved(None)


class ConfigFixture:
    """A broker with id 1 as the handlers see it."""

    def __init__(self) -> None:
        self.cluster = MetadataCache("cluster")
        topics = [TopicImage(name, bytes(16), {}) for name in ("t1", "t2")]
        brokers = {number: BrokerInfo(number, None, {}) for number in (1, 2)}
        self.cluster.update(replace(self.cluster.image.with_topics(topics), brokers=brokers))
        self.configs = Configs(self.cluster)
        self.quotas = ClientQuotas(QuotaWindow(), QuotaWindow())
        self.cluster.subscribe_to_configs(partial(put_in_force, self.quotas))
        config = BrokerConfig({"broker.id": "1", "foo.bar": "x"})
        self.services = services_of(
            broker_id=1,
            config=config,
            metadata=self.cluster,
            configs=self.configs,
            quotas=self.quotas,
        )

    @property
    def stored(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """The configs of (kind, name)."""
        return self.cluster.image.entity_configs

    def store(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        """As if another client had stored them."""
        self.cluster.apply(UpdateConfigs({(kind, name): configs}))

    def context(self, version: int) -> RequestContext:
        return context_of(self.services, version)

    def describe(
        self, *resources: tuple[int, str, list[str] | None], version: int = 4, **flags: bool
    ) -> list[Any]:
        asked = [DescribeConfigsRequest.DescribeConfigsResource(*resource) for resource in resources]
        request = DescribeConfigsRequest(resources=asked, **flags)
        answer = describe_configs.handle(self.context(version), request)
        response = answer.value if isinstance(answer, Promise) else answer
        # What is answered can be encoded in the version it is answered in.
        assert response.encode(version)
        return response.results

    def increment(
        self, *resources: tuple[int, str, list[tuple[str, int, str | None]]], **flags: bool
    ) -> list[Any]:
        request = IncrementalAlterConfigsRequest(
            resources=[
                IncrementalAlterConfigsRequest.AlterConfigsResource(
                    kind,
                    name,
                    [IncrementalAlterConfigsRequest.AlterableConfig(*element) for element in elements],
                )
                for kind, name, elements in resources
            ],
            **flags,
        )
        response = incremental_alter_configs.handle(self.context(1), request).value
        assert response.encode(1)
        return [
            (answer.error_code, answer.error_message, answer.resource_type, answer.resource_name)
            for answer in response.responses
        ]

    def replace(self, *resources: tuple[int, str, dict[str, str | None]], **flags: bool) -> list[Any]:
        request = AlterConfigsRequest(
            resources=[
                AlterConfigsRequest.AlterConfigsResource(
                    kind,
                    name,
                    [AlterConfigsRequest.AlterableConfig(*element) for element in elements.items()],
                )
                for kind, name, elements in resources
            ],
            **flags,
        )
        response = alter_configs.handle(self.context(2), request).value
        assert response.encode(2)
        return [
            (answer.error_code, answer.error_message, answer.resource_type, answer.resource_name)
            for answer in response.responses
        ]
