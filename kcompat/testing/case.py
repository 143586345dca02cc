"""A test case of `unittest` with a broker."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, ClassVar, Final

from kcompat.testing.sharing import SharedBrokers, unique_topic

if TYPE_CHECKING:
    from kcompat import Broker
    from kcompat.embedded.settings import Settings

_NAME: Final = "kafka_broker"


class KafkaTestCase(unittest.TestCase):
    """A test case whose class has a running broker, `kafka_broker`, and whose tests have a topic each.

    class OrdersTest(KafkaTestCase):
            kafka_config = {"num.partitions": 3}

    def test_orders(self):
                producer = KafkaProducer(bootstrap_servers=self.kafka_broker.bootstrap_servers)
                producer.send(self.kafka_topic, b"order").get()

    It can be combined with other test cases as base classes: `class OrdersTest(KafkaTestCase,
    IsolatedAsyncioTestCase)`. A `setUpClass` or `setUp` of the class has to call the inherited one.
    """

    kafka_config: ClassVar[Settings] = {}
    """Settings of the broker by Kafka's keys."""
    kafka_reset: ClassVar[bool] = False
    """Whether each test finds the broker as it was at its start."""
    kafka_broker: ClassVar[Broker]
    """The running broker of the class. Faults that a test leaves end after that test."""
    kafka_topic: str
    """The name of a topic that no other test has; the first write creates it."""
    _shared: ClassVar[SharedBrokers]

    @classmethod
    def setUpClass(cls) -> None:
        """Start the broker, which stops after the last test of the class."""
        from kcompat import Broker

        super().setUpClass()
        cls.kafka_broker = cls.enterClassContext(Broker(config=cls.kafka_config))
        cls._shared = SharedBrokers()
        cls.enterClassContext(cls._shared.sharing(_NAME, cls.kafka_broker, does_reset=cls.kafka_reset))

    def setUp(self) -> None:
        """Prepare the broker, and choose the name of the test's topic."""
        super().setUp()
        self._shared.prepare([_NAME])
        self.kafka_topic = unique_topic(self.id().rpartition(".")[2])

    def doCleanups(self) -> None:  # noqa: N802 - the name that unittest calls
        """End the faults that the test has left, before the cleanups close its clients."""
        self._shared.clean(self.id())
        super().doCleanups()
