from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.errors import StartError, UsageError
from kcompat.node.development import Development
from kcompat.node.environment import real_environment
from kcompat.security.credentials import ScramCredential

USERS = {"alice": "secret", "bob": "hidden"}


def config(directory: Path) -> BrokerConfig:
    return BrokerConfig({"log.dirs": str(directory), "listeners": "PLAINTEXT://127.0.0.1:0"})


def test_a_user_logs_in_by_the_mechanism(tmp_path: Path) -> None:
    development = Development(users=USERS)
    access = development.access(development.secured(config(tmp_path)), "h:1", "bob", "SCRAM-SHA-256")
    assert (access.protocol, access.bootstrap_servers, access.ca_file) == ("SASL_PLAINTEXT", "h:1", None)
    assert access.login is not None
    assert (access.login.mechanism, access.login.user, access.login.password) == (
        "SCRAM-SHA-256",
        "bob",
        "hidden",
    )


def test_with_tls_alone_a_user_shows_a_certificate(tmp_path: Path) -> None:
    development = Development(tls=True)
    secured = development.secured(config(tmp_path))
    ca_file = development.write_ca(str(tmp_path))
    assert ca_file is not None
    assert development.access(secured, "h:1", None, "PLAIN").certificate_file is None
    access = development.access(secured, "h:1", "alice", "PLAIN")
    assert (access.protocol, access.ca_file, access.login) == ("SSL", ca_file, None)
    assert access.certificate_file == str(tmp_path / "client-alice.pem")
    assert stat.S_IMODE(Path(access.certificate_file).stat().st_mode) == 0o600
    ssl.create_default_context(cafile=ca_file).load_cert_chain(access.certificate_file)


@pytest.mark.parametrize(
    ("users", "user", "mechanism", "message"),
    [
        (USERS, None, "PLAIN", "a user is missing: the broker has 'alice', 'bob'"),
        (USERS, "carol", "PLAIN", "there is no user 'carol': the broker has 'alice', 'bob'"),
        (USERS, "alice", "GSSAPI", "there is no mechanism 'GSSAPI': use one of PLAIN, SCRAM-SHA-256"),
        ({}, "alice", "PLAIN", "there is no user 'alice': the broker has none"),
        (None, "alice", "PLAIN", "clients cannot log in as 'alice': give the broker users or tls=True"),
    ],
)
def test_a_login_that_cannot_be_is_refused(
    users: dict[str, str] | None, user: str | None, mechanism: str, message: str, tmp_path: Path
) -> None:
    development = Development(users=users)
    with pytest.raises(UsageError, match=message):
        development.access(development.secured(config(tmp_path)), "h:1", user, mechanism)


def test_the_only_user_need_not_be_named(tmp_path: Path) -> None:
    development = Development(users={"alice": "secret"})
    access = development.access(development.secured(config(tmp_path)), "h:1", None, "PLAIN")
    assert access.login is not None
    assert access.login.user == "alice"


def test_users_have_credentials_for_both_kinds_of_scram() -> None:
    users = Development(users=USERS).scram_users()
    assert {(user.name, user.mechanism) for user in users} == {
        (name, mechanism) for name in USERS for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
    }
    assert all(user.replaces for user in users)
    assert ScramCredential.parse(users[0].credential).iterations == 4096


async def test_without_users_and_acls_the_environment_stays_as_it_is() -> None:
    environment = real_environment()
    assert Development(tls=True).prepared(environment) is environment


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    development = Development(tls=True)
    with pytest.raises(StartError, match=r"gone/development-ca\.pem cannot be written: No such file"):
        development.write_ca(str(tmp_path / "gone"))
    with pytest.raises(StartError, match=r"gone/client-alice\.pem cannot be written: No such file"):
        development.access(development.secured(config(tmp_path / "gone")), "h:1", "alice", "PLAIN")
