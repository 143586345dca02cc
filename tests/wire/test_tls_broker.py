"""A whole broker with a TLS listener: it serves clients, and takes new certificates while it serves them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.errors import ConfigError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.raw_client import RawClient
from support.raw_requests import create_topic, produce, read_all
from support.tls_authority import HOSTS, PASSWORD, Authority, as_pem, as_pkcs12

if TYPE_CHECKING:
    from pathlib import Path

BROKER = 4
SET = 0
AUTHORITY = Authority()
LOCATION = "listener.name.ssl.ssl.keystore.location"


def client_of(broker: Broker, authority: Authority = AUTHORITY) -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)), tls=authority.client_context())


def serial_of(broker: Broker) -> str:
    """The serial number of the certificate that new connections are shown."""
    with client_of(broker) as client:
        return str(client._socket.getpeercert()["serialNumber"])  # type: ignore[attr-defined]


def alter(client: RawClient, **configs: str) -> tuple[ErrorCode, str]:
    """Set keys of listener SSL, given without their prefix and with _ for a dot."""
    elements = [
        IncrementalAlterConfigsRequest.AlterableConfig(
            f"listener.name.ssl.ssl.{name.replace('_', '.')}", SET, value
        )
        for name, value in configs.items()
    ]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(BROKER, "1", elements)
    answer: Any = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0]
    return ErrorCode(answer.error_code), answer.error_message or ""


def batch() -> bytes:
    return build_batch([Record(0, 2**40, None, bytes(100))])


def test_records_go_through_tls(tmp_path: Path) -> None:
    with Broker(config=AUTHORITY.properties(tmp_path)) as broker, client_of(broker) as client:
        create_topic(client, "t")
        big = build_batch([Record(0, 2**40, None, bytes(range(250)) * 3000)])
        for offset in range(10):
            assert produce(client, "t", big).base_offset == offset
        assert [len(record.value) for record in read_all(client, "t")] == 10 * [750_000]


def test_a_bad_store_ends_the_start_with_a_sentence(tmp_path: Path) -> None:
    properties = AUTHORITY.properties(tmp_path)
    (tmp_path / "broker.pem").write_text("nothing")
    with pytest.raises(ConfigError, match=r"^Listener SSL: The key store .* must have one private key"):
        Broker(config=properties).start()


def test_plain_and_encrypted_listeners_stand_side_by_side(tmp_path: Path) -> None:
    both = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"}
    with Broker(config=AUTHORITY.properties(tmp_path, **both)) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            assert client.call(MetadataRequest(topics=[]), 9).brokers[0].port == int(port)


def renew_by_file(broker: Broker, directory: Path, leaf: Any) -> None:
    new = directory / "new.pem"
    new.write_bytes(as_pem(leaf))
    new.rename(directory / "broker.pem")


def renew_by_path(broker: Broker, directory: Path, leaf: Any) -> None:
    path = directory / "another.pem"
    path.write_bytes(as_pem(leaf))
    with client_of(broker) as client:
        assert alter(client, keystore_location=str(path)) == (ErrorCode.NONE, "")


@pytest.mark.parametrize("renew", [renew_by_file, renew_by_path])
def test_a_certificate_is_renewed_under_load_without_a_failed_request(tmp_path: Path, renew: Any) -> None:
    with Broker(config=AUTHORITY.properties(tmp_path, **{"ssl.allow.dn.changes": "true"})) as broker:
        with client_of(broker) as client:
            create_topic(client, "t")
        stop, failures, counts = threading.Event(), [], [0, 0]

        def load(number: int, is_new: bool) -> None:
            try:
                client = client_of(broker)
                while not stop.is_set():
                    assert produce(client, "t", batch()).error_code == 0
                    counts[number] += 1
                    if is_new:
                        client.close()
                        client = client_of(broker)
                client.close()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=load, args=arguments) for arguments in ((0, False), (1, True))]
        for thread in threads:
            thread.start()
        eventually(lambda: all(counts))
        before = serial_of(broker)
        renew(broker, tmp_path, AUTHORITY.ca.issue_cert(*HOSTS))
        eventually(lambda: serial_of(broker) != before)
        reached = list(counts)
        eventually(lambda: failures or all(now > then for now, then in zip(counts, reached, strict=True)))
        stop.set()
        for thread in threads:
            thread.join()
        assert not failures


def test_a_store_that_cannot_be_used_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    with Broker(config=AUTHORITY.properties(tmp_path)) as broker, client_of(broker) as client:
        before = serial_of(broker)
        (tmp_path / "damaged.pem").write_text("nothing")
        (tmp_path / "other.pem").write_bytes(as_pem(AUTHORITY.ca.issue_cert("localhost")))
        for path, reason in [
            (
                "/no/such/file",
                "ssl.keystore.location=/no/such/file cannot be read: No such file or directory",
            ),
            (str(tmp_path / "damaged.pem"), "must have one private key, and has 0"),
            (str(tmp_path / "other.pem"), "Keystore DistinguishedName does not match: existing={DN="),
        ]:
            error, message = alter(client, keystore_location=path)
            assert error is ErrorCode.INVALID_REQUEST
            assert reason in message
        assert serial_of(broker) == before


def test_names_may_change_where_that_is_allowed(tmp_path: Path) -> None:
    allowed = {"ssl.allow.dn.changes": "true"}
    other = tmp_path / "other.pem"
    with Broker(config=AUTHORITY.properties(tmp_path, **allowed)) as broker, client_of(broker) as client:
        other.write_bytes(as_pem(AUTHORITY.ca.issue_cert("127.0.0.1")))
        assert alter(client, keystore_location=str(other)) == (
            ErrorCode.INVALID_REQUEST,
            "Listener SSL: Keystore SubjectAltNames do not match: the new ones lack some of the old",
        )
        other.write_bytes(as_pem(AUTHORITY.ca.issue_cert(*HOSTS, "broker.example.org")))
        assert alter(client, keystore_location=str(other)) == (ErrorCode.NONE, "")


def test_other_settings_of_a_listener_may_change(tmp_path: Path) -> None:
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(AUTHORITY.trust_in(tmp_path))}
    with Broker(config=AUTHORITY.properties(tmp_path, **trust)) as broker, client_of(broker) as client:
        assert alter(client, client_auth="required") == (ErrorCode.NONE, "")

        def is_refused() -> bool:
            try:
                with client_of(broker) as other:
                    other.call(MetadataRequest(topics=[]), 9)
            except OSError:
                return True
            return False

        eventually(is_refused)
        error, message = alter(client, enabled_protocols="TLSv1.1")
        assert error is ErrorCode.INVALID_REQUEST
        assert "ssl.enabled.protocols names TLSv1.1" in message


def test_secrets_are_not_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = tmp_path / "broker.p12"
    store.write_bytes(as_pkcs12(AUTHORITY.broker))
    properties = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
    }
    with Broker(config=properties) as broker, client_of(broker) as client:
        error, message = alter(client, keystore_password="wrongsesame")
        assert error is ErrorCode.INVALID_REQUEST
        resource = DescribeConfigsRequest.DescribeConfigsResource(BROKER, "1", None)
        rows = client.call(DescribeConfigsRequest(resources=[resource]), 4).results[0].configs
        shown = {row.name: row.value for row in rows if row.name.startswith("ssl.key")}
        assert shown["ssl.keystore.password"] is None
        assert shown["ssl.keystore.location"] == str(store)
    for secret in (PASSWORD, "wrongsesame"):
        assert secret not in caplog.text + message + repr(rows)
