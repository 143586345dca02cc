"""A module for tests in tests: questions to a broker."""

from __future__ import annotations

from typing import Final

ASKING: Final = """
from kcompat.protocol.messages.metadata import MetadataRequest
from support.raw_client import RawClient

def address_of(broker):
    host, _, port = broker.bootstrap_servers.split(",")[0].rpartition(":")
    return host, int(port)

def partitions(broker, topic):
    wanted = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
    with RawClient(address_of(broker)) as client:
        [topic] = client.call(wanted, 4).topics
        while topic.error_code:
            [topic] = client.call(wanted, 4).topics
    return len(topic.partitions)

def brokers_of(cluster):
    with RawClient(address_of(cluster)) as client:
        return len(client.call(MetadataRequest(topics=[]), 4).brokers)
"""
