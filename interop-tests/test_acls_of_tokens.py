"""ACLs of delegation tokens and of users, the two resources that the admission tests leave out: what a client
with each kind of rule may do with another user's token, on kcompat as on a Kafka 3.9.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from differential.play import Play
from differential.sasl_play import side_by_side
from differential.scenarios.access_rules import CREATE, RULE
from kcompat.protocol.api_keys import ApiKey
from kcompat.security.login_lines import login_line
from support.sasl import plain_token
from test_acls import is_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("test_acls_of_users.py has a rule of each of these operations")

OWNER, ADMIN, PASSWORD = "alice", "admin", "secret"
TOKEN, USER = 6, 7
ALL, DESCRIBE, CREATE_TOKENS, DESCRIBE_TOKENS = 2, 8, 13, 14
DENY, PREFIXED = 2, 4
ELSEWHERE: Final = "10.0.0.1"
OPERATIONS: Final = {
    "create": (USER, CREATE_TOKENS),
    "list": (USER, DESCRIBE_TOKENS),
    "show": (TOKEN, DESCRIBE),
}
"""Resource type and operation of the ACLs, by the first part of the names of the clients that have them."""


class Variant(NamedTuple):
    """The rules of a client about a resource, as changes of a rule that allows."""

    name: str
    rules: tuple[Mapping[str, object], ...] = ()
    """Rules in which the names `literal` and `prefix` stand for the resource and for the beginning of it."""


WILDCARD: Final = {"resource_name": "*"}
VARIANTS: Final = (
    Variant("none"),
    Variant("literal", ({"resource_name": "literal"},)),
    Variant("prefix", ({"resource_name": "prefix", "resource_pattern_type": PREFIXED},)),
    Variant("any", (WILDCARD,)),
    Variant("all", ({"resource_name": "literal", "operation": ALL},)),
    Variant("elsewhere", ({"resource_name": "literal", "host": ELSEWHERE},)),
    Variant("denied", (WILDCARD, {"resource_name": "literal", "permission_type": DENY})),
    Variant(
        "denied-by-prefix",
        (WILDCARD, {"resource_name": "prefix", "resource_pattern_type": PREFIXED, "permission_type": DENY}),
    ),
    Variant("denied-everything", (WILDCARD, WILDCARD | {"operation": ALL, "permission_type": DENY})),
    Variant(
        "denied-elsewhere",
        (WILDCARD, {"resource_name": "literal", "permission_type": DENY, "host": ELSEWHERE}),
    ),
    Variant("another-name", ({"resource_name": "other"},)),
)
CLIENTS: Final = tuple(f"{operation}-{variant.name}" for operation in OPERATIONS for variant in VARIANTS)
USERS: Final = (ADMIN, OWNER, *CLIENTS)
PROPERTIES: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:ANONYMOUS;User:{ADMIN}",
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": login_line(
        "PLAIN", {f"user_{user}": PASSWORD for user in USERS}
    ),
    "delegation.token.secret.key": "secret-key",
}


def rules(token_id: str) -> list[dict[str, object]]:
    """Return the ACLs of all clients about the tokens of `OWNER`, and about one of them."""
    made = []
    for action, (kind, operation) in OPERATIONS.items():
        literal = f"User:{OWNER}" if kind == USER else token_id
        names = {"literal": literal, "prefix": literal[:7], "*": "*", "other": f"{literal}x"}
        for variant in VARIANTS:
            own = {
                "principal": f"User:{action}-{variant.name}",
                "resource_type": kind,
                "operation": operation,
            }
            for changes in variant.rules:
                made.append(RULE | own | changes | {"resource_name": names[str(changes["resource_name"])]})
    return made


class Client(Play):
    """A user that has logged in."""

    def __init__(self, broker: BrokerProcess, user: str) -> None:
        super().__init__(broker.listeners["SASL"][1], user)
        self.do(ApiKey.SASL_HANDSHAKE, 1, on="main", mechanism="PLAIN")
        token = plain_token(user, PASSWORD)
        assert self.do(ApiKey.SASL_AUTHENTICATE, 1, on="main", auth_bytes=token).error_code == 0

    def create(self) -> Any:
        """Ask for a token that lets its holder in as `OWNER`."""
        owner = {"owner_principal_type": "User", "owner_principal_name": OWNER}
        return self.do(ApiKey.CREATE_DELEGATION_TOKEN, 3, on="main", renewers=[], max_lifetime_ms=-1, **owner)

    def shown(self, owners: list[dict[str, str]] | None = None) -> list[str]:
        """Return the users that have asked for the tokens that this client is shown."""
        answer = self.do(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, on="main", owners=owners)
        assert answer.error_code == 0
        return sorted(row.token_requester_principal_name for row in answer.tokens)

    def errors(self, hmac: bytes) -> tuple[int, int]:
        """Return the errors of renewing and of expiring a token."""
        renewed = self.do(ApiKey.RENEW_DELEGATION_TOKEN, 2, on="main", hmac=hmac, renew_period_ms=-1)
        expired = self.do(
            ApiKey.EXPIRE_DELEGATION_TOKEN, 2, on="main", hmac=hmac, expiry_time_period_ms=10**9
        )
        return renewed.error_code, expired.error_code


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """A real Kafka and ours."""
    with side_by_side(PROPERTIES) as both:
        yield both


def outcomes(broker: BrokerProcess) -> dict[str, Any]:
    """Return by client the error of creating a token, the tokens shown, and the errors of changing one."""
    admin, maker = Client(broker, ADMIN), Play(broker.port, "setup")
    token = admin.create()
    assert token.error_code == 0
    made = rules(token.token_id)
    assert {row.error_code for row in maker.do(CREATE, 3, creations=made).results} == {0}
    maker.until(lambda: is_known(maker, len(made)), "the ACLs are shown")
    clients = {user: Client(broker, user) for user in CLIENTS}
    created = {user: client.create().error_code for user, client in clients.items()}
    count = 1 + list(created.values()).count(0)
    created[ADMIN], clients[ADMIN] = token.error_code, admin
    admin.until(lambda: len(admin.shown()) == count, "the tokens are shown")
    owners = [{"principal_type": "User", "principal_name": OWNER}]
    try:
        return {
            user: (created[user], client.shown(), client.shown(owners), client.errors(token.hmac))
            for user, client in clients.items()
        }
    finally:
        for each in (maker, *clients.values()):
            each.close()


def test_rules_about_tokens_change_what_they_change_in_kafka(
    brokers: tuple[BrokerProcess, BrokerProcess],
) -> None:
    theirs, ours = (outcomes(broker) for broker in brokers)
    print(f"{len(theirs)} clients, each with 5 answers")
    assert ours == theirs
    creators = ("create-literal", "create-prefix", "create-any", "create-all", "create-denied-elsewhere")
    assert {user for user in CLIENTS if ours[user][0] == 0} == {*creators, "list-all"}
