"""Command lines of `kafka-acls` stand for resources with entries."""

from __future__ import annotations

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands import acls
from kcompat.commands.acl_rules import CLUSTER, AclTarget, Entry, rules
from kcompat.commands.options import CommandExit
from kcompat.security.acls import PatternType, PermissionType
from kcompat.security.operations import Operation, ResourceType


def _rules(line: str) -> dict[AclTarget, set[Entry]]:
    return rules(acls.parser().parse(line.split()))


def _topic(name: str, pattern: PatternType = PatternType.LITERAL) -> AclTarget:
    return AclTarget(ResourceType.TOPIC, name, pattern)


def _allowed(*operations: Operation, principal: str = "User:p") -> set[Entry]:
    return {Entry(principal, "*", operation, PermissionType.ALLOW) for operation in operations}


def test_principals_operations_and_hosts_are_multiplied() -> None:
    found = _rules(
        "--topic t --resource-pattern-type prefixed --operation Read --operation alter_configs "
        "--allow-principal User:a --allow-principal User:b --allow-host 10.0.0.1 --deny-principal User:c"
    )
    (acl,) = found.values()
    assert list(found) == [_topic("t", PatternType.PREFIXED)]
    assert len(acl) == 6
    assert Entry("User:b", "10.0.0.1", Operation.ALTER_CONFIGS, PermissionType.ALLOW) in acl
    assert Entry("User:c", "*", Operation.READ, PermissionType.DENY) in acl


def test_conveniences_stand_for_what_clients_need() -> None:
    found = _rules(
        "--producer --consumer --idempotent --topic t --group g --transactional-id x --allow-principal User:p"
    )
    assert found == {
        _topic("t"): _allowed(Operation.WRITE, Operation.DESCRIBE, Operation.CREATE, Operation.READ),
        AclTarget(ResourceType.GROUP, "g", PatternType.LITERAL): _allowed(Operation.READ),
        AclTarget(ResourceType.TRANSACTIONAL_ID, "x", PatternType.LITERAL): _allowed(
            Operation.WRITE, Operation.DESCRIBE
        ),
        CLUSTER: _allowed(Operation.IDEMPOTENT_WRITE),
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--allow-principal User:a", "You must provide at least one resource"),
        (
            "--cluster --operation Read --allow-principal User:a",
            "ResourceType CLUSTER only supports operations",
        ),
        ("--topic t --operation nonsense --allow-principal User:a", "ResourceType TOPIC only supports"),
    ],
)
def test_what_does_not_fit_ends_the_command(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandExit):
        _rules(line)
    assert message in capsys.readouterr().err


def test_principal_has_a_type() -> None:
    with pytest.raises(
        JavaError, match="expected a string in format principalType:principalName but got bad"
    ):
        _rules("--topic t --allow-principal bad")
