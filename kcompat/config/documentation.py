"""The reference page of the configuration, written from the table.

`docs/reference/configuration.md` is this text; a test compares them, `kcompat config --markdown` prints it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.group import GROUP_KEYS
from kcompat.config.keys import ConfigKey, Effect
from kcompat.config.table import DYNAMIC_ONLY_KEYS, SECTIONS, TOPIC_CONFIG_SYNONYMS, TOPIC_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable

_INTRODUCTION = """\
# Configuration

<!-- Written by `kcompat config --markdown`. Change the rows in kcompat/config/rows, not this page. -->

Every key of Apache Kafka 3.9 is understood, with Kafka's names, types, defaults and bounds. A value that
is not allowed stops the start with a sentence that names key and value. A key that no Kafka has is refused
on the command line and in `Broker(config=...)`, and ignored with a warning in files and variables.

Values come, strongest first, from the command line (`--override key=value`, `--port`, `--data-dir`),
from environment variables, from the properties file, and from the defaults below. A variable is the key
in capitals behind `KAFKA_`, with `_` for a dot, `__` for an underscore and `___` for a dash:
`KAFKA_LOG_RETENTION_HOURS` sets `log.retention.hours`.

**Change** says where a key can be changed while the broker runs, with `kafka-configs` or an admin
client: *cluster-wide* for all brokers or one, *per-broker* for one, *per-listener* for one with the
prefix `listener.name.NAME.`.

**Effect** is *yes*, or says why a key does nothing here, or why another value than its default is
refused: at the start, with a listener's prefix too, and as a dynamic config.

## What differs from Kafka

- `group.initial.rebalance.delay.ms` is 0, not 3000: the first consumer of a group need not wait,
  unless others are known to be coming.
- In a cluster that no other broker can join, `offsets.topic.replication.factor`,
  `transaction.state.log.replication.factor` and `share.coordinator.state.topic.replication.factor` are at
  most the number of its brokers, up or not: 1 for a single broker, 2 for `--brokers 2` and `Cluster(2)`. A
  larger value that you set is lowered with a warning in the log. With `zookeeper.connect` other brokers can
  join, and these keys are obeyed as by Kafka: until enough brokers are up, clients are told
  COORDINATOR_NOT_AVAILABLE.
- `transaction.state.log.min.isr` and `share.coordinator.state.topic.min.isr` are at most the replicas that
  their topic gets.
- `advertised.listeners` unset: a broker that is alone tells each client the address at which it reached
  it, not the name of the host. One of several tells everybody the host that `listeners` names. Where that
  names none, it is the canonical name of the host with `zookeeper.connect`, and `localhost` for the brokers
  of one command.
- `kcompat start` stores in `./kcompat-data` where neither `log.dirs` nor `log.dir` is given.
- `listeners` and `advertised.listeners` cannot be changed while the broker runs. Other keys with a
  listener's prefix than those that are refused are kept and shown, without effect.
- `super.users` and `allow.everyone.if.no.acl.found`, which are keys of Kafka's authorizers, are obeyed but
  have no row below. The `sasl.oauthbearer` keys of Kafka 4.3 are refused unless they are empty or have
  their defaults.
- DescribeConfigs version 0 says truly which values are defaults; Kafka 3.9 always answers no.
- The loggers that can be described and changed are this broker's: those below `kcompat`, and those with
  names of Kafka, such as `kafka.server.KafkaApis`; `root` stands for all of them.
"""


def reference_page() -> str:
    """Return the page in Markdown."""
    parts = [_INTRODUCTION]
    for title, keys in SECTIONS:
        parts.append(f"\n## {title}\n\n{_broker_table(sorted(keys, key=lambda key: key.name))}")
    parts.append(f"\n## Dynamic only\n\n{_broker_table(DYNAMIC_ONLY_KEYS.values())}")
    parts.append(
        "\n## Topics\n\nWhat a topic does not set follows the broker key, if there is one; "
        "of several, the first that is set.\n\n"
    )
    parts.append(_header("broker key"))
    parts += [_topic_row(key) for key in TOPIC_KEYS.values()]
    parts.append(
        "\n## Groups\n\nWhat a group may set for itself, with `kafka-configs --entity-type groups`. "
        "What it does not set follows the broker key, if there is one.\n\n"
    )
    parts.append(_header("broker key"))
    parts += [_row(key.row, f"`{key.broker_key}`" if key.broker_key else "") for key in GROUP_KEYS.values()]
    return "".join(parts)


def _broker_table(keys: Iterable[ConfigKey]) -> str:
    rows = "".join(_row(key, "" if not key.is_dynamic else key.scope.value) for key in keys)
    return _header("change") + rows


def _header(fifth: str) -> str:
    columns = f"| key | type | default | allowed | {fifth} | effect | what it is |\n"
    return columns + "| --- | --- | --- | --- | --- | --- | --- |\n"


def _topic_row(key: ConfigKey) -> str:
    return _row(key, ", ".join(f"`{synonym.name}`" for synonym in TOPIC_CONFIG_SYNONYMS.get(key.name, ())))


def _row(key: ConfigKey, fifth: str) -> str:
    default = "" if key.default is None else f"`{key.default}`" if key.default else "empty"
    allowed = "" if key.validator is None else key.validator.allowed
    effect = "yes" if key.effect is Effect.YES else f"{_EFFECT_WORDS[key.effect]}: {key.reason}"
    cells = (f"`{key.name}`", key.type.name.lower(), default, allowed, fifth, effect, key.doc)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


_EFFECT_WORDS = {Effect.NONE: "none", Effect.REFUSED: "refused"}
