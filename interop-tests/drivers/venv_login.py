"""Lists the topics with a library of a virtual environment: `python venv_login.py LIBRARY SETTINGS`.

`SETTINGS` is a JSON object. Prints one: `{"topics": [...]}` or `{"error": "..."}`. Imports nothing but the
library.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any


def kafka_python(settings: dict[str, Any]) -> list[str]:
    """List the topics with kafka-python 2, whose log alone tells why a login is refused."""
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(**settings)
    try:
        return list(consumer.topics())
    finally:
        consumer.close()


def confluent(settings: dict[str, Any]) -> list[str]:
    """List the topics with confluent-kafka."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    seconds = settings.pop("patience")
    errors: list[Any] = []
    client = AdminClient(settings | {"error_cb": errors.append})
    try:
        return list(client.list_topics(timeout=seconds).topics)
    except KafkaException as error:
        client.poll(0)
        raise RuntimeError(f"{error} {[each.name() + ' ' + each.str() for each in errors]}") from error


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr)
    library, text = sys.argv[1:]
    try:
        answer: dict[str, Any] = {"topics": globals()[library](json.loads(text))}
    except Exception as error:
        answer = {"error": repr(error)}
    print(json.dumps(answer))
