"""A test case of `unittest` with a broker."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, ClassVar

from kcompat.testing.sharing import unique_topic

if TYPE_CHECKING:
    from kcompat import Broker
    from kcompat.embedded.settings import Settings


class KafkaTestCase(unittest.TestCase):
    """A test case whose class has a running broker, `kafka_broker`, and whose tests have a topic each.

        class OrdersTest(KafkaTestCase):
            kafka_config = {"num.partitions": 3}

            def test_orders(self):
                producer = KafkaProducer(bootstrap_servers=self.kafka_broker.bootstrap_servers)
                producer.send(self.kafka_topic, b"order").get()

    It can stand beside other test cases among the base classes: `class OrdersTest(KafkaTestCase,
    IsolatedAsyncioTestCase)`. A `setUpClass` or `setUp` of the class has to call the inherited one.
    """

    kafka_config: ClassVar[Settings] = {}
    """Settings of the broker by Kafka's keys."""
    kafka_broker: ClassVar[Broker]
    """The running broker of the class."""
    kafka_topic: str
    """The name of a topic that no other test has; the first write creates it."""

    @classmethod
    def setUpClass(cls) -> None:
        """Start the broker, which stops behind the last test of the class."""
        from kcompat import Broker

        super().setUpClass()
        cls.kafka_broker = cls.enterClassContext(Broker(config=cls.kafka_config))

    def setUp(self) -> None:
        """Choose the name of the test's topic."""
        super().setUp()
        self.kafka_topic = unique_topic(self.id().rpartition(".")[2])
