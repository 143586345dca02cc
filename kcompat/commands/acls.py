"""`kcompat acls`: list, add and remove ACLs, as `kafka-acls` does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kcompat.admin.client import CONTROLLER
from kcompat.admin.errors import JavaError, raise_for
from kcompat.commands.acl_rules import (
    AclTarget,
    Entry,
    pattern_type,
    principals,
    resources,
    rules,
)
from kcompat.commands.connecting import connect
from kcompat.commands.options import OptionParser
from kcompat.commands.output import error_stream, print_json
from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.protocol.messages.delete_acls import DeleteAclsRequest
from kcompat.protocol.messages.describe_acls import DescribeAclsRequest
from kcompat.security.acls import PatternType, PermissionType
from kcompat.security.operations import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.commands.options import Options

    Rules = dict[AclTarget, set[Entry]]

PURPOSE: Final = "This tool helps to manage acls on kafka."
ACTIONS: Final = ("add", "remove", "list")
_EVERYTHING: Final = AclTarget(ResourceType.ANY, "", PatternType.ANY)
_PRINCIPALS: Final = ("allow-host", "allow-principal", "deny-host", "deny-principal")


def parser() -> OptionParser:
    """Return the parser of the command line."""
    found = OptionParser(PURPOSE)
    found.accepts_connection()
    found.accepts_output()
    found.accepts("bootstrap-controller", "Not supported: kcompat asks brokers.", "controller")
    found.accepts("list", "List ACLs: all, or those of the resources that are named.")
    found.accepts("add", "Add ACLs.")
    found.accepts("remove", "Remove ACLs, after a question unless --force is given.")
    found.accepts("topic", "A topic; * stands for all.", "topic")
    found.accepts("cluster", "The cluster.")
    found.accepts("group", "A group; * stands for all.", "group")
    found.accepts("transactional-id", "A transactional id; * stands for all.", "transactional-id")
    found.accepts("idempotent", "With --producer: also what an idempotent producer needs.")
    found.accepts("delegation-token", "A delegation token; * stands for all.", "delegation-token")
    found.accepts("user-principal", "A user as a resource.", "user-principal")
    found.accepts(
        "resource-pattern-type",
        "literal (default) or prefixed; to list and remove, also any (of whatever type) and match (all that "
        "concern the name).",
        "ANY|MATCH|LITERAL|PREFIXED",
    )
    found.accepts(
        "operation", "An operation that is allowed or denied (default: All); may be repeated.", "operation"
    )
    found.accepts("allow-principal", "A principal that is allowed, as User:NAME.", "principal")
    found.accepts("deny-principal", "A principal that is denied, as User:NAME.", "principal")
    found.accepts("principal", "With --list: only the ACLs of this principal.", "principal", optional=True)
    found.accepts("allow-host", "An address from which the principals are allowed (default: *).", "host")
    found.accepts("deny-host", "An address from which the principals are denied (default: *).", "host")
    found.accepts("producer", "The operations that a producer needs on topics and transactional ids.")
    found.accepts("consumer", "The operations that a consumer needs on topics and groups.")
    found.accepts("force", "Ask no question.")
    return found


def run(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    accepted = parser()
    try:
        options = accepted.parse(arguments)
    except JavaError as error:
        accepted.fail(str(error))
    _check(options)
    try:
        with connect(options) as admin:
            if options.has("add"):
                _add(admin, options)
            elif options.has("remove"):
                _remove(admin, options)
            else:
                _list(admin, options)
    except JavaError as error:
        error_stream(is_json=options.json).write(f"Error while executing ACL command: {error}\n")
        return 1
    return 0


def _check(options: Options) -> None:
    """End the command if the options do not fit together (`AclCommandOptions.checkArgs`)."""
    options.end_for_help()
    fail = options.parser.fail
    if options.has("bootstrap-server") and options.has("bootstrap-controller"):
        fail("Only one of --bootstrap-server or --bootstrap-controller must be specified")
    if options.has("bootstrap-controller"):
        fail("--bootstrap-controller is not supported: name a broker by --bootstrap-server")
    if not options.has("bootstrap-server"):
        fail("One of --bootstrap-server or --bootstrap-controller must be specified")
    if sum(map(options.has, ACTIONS)) != 1:
        fail("Command must include exactly one action: --list, --add, --remove. ")
    options.forbid("list", ("producer", "consumer", *_PRINCIPALS))
    for role in ("producer", "consumer"):
        options.forbid(role, ("operation", "deny-principal", "deny-host"))
    if options.has("principal") and not options.has("list"):
        fail("The --principal option is only available if --list is set")
    if options.has("producer") and not options.has("topic"):
        fail("With --producer you must specify a --topic")
    if options.has("idempotent") and not options.has("producer"):
        fail("The --idempotent option is only available if --producer is set")
    if options.has("consumer") and not _fits_consumer(options):
        fail(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id "
            "option should be specified."
        )


def _fits_consumer(options: Options) -> bool:
    has_others = options.has("cluster") or options.has("transactional-id")
    return options.has("topic") and options.has("group") and (options.has("producer") or not has_others)


# Actions


def _add(admin: AdminClient, options: Options) -> None:
    pattern = pattern_type(options)
    if pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        options.parser.fail(
            f"A '--resource-pattern-type' value of '{pattern.name}' is not valid when adding acls."
        )
    wanted = rules(options)
    if not all(wanted.values()):
        options.parser.fail(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    for resource, acl in wanted.items():
        present = _described(admin, resource).get(resource, set())
        for entry in sorted(acl & present):
            sys.stdout.write(f"Acl (pattern={resource}, entry={entry}) already exists.\n")
        if new := sorted(acl - present):
            sys.stdout.write(f"Adding ACLs for resource `{resource}`: \n {_lines(new)}\n\n")
            _create(admin, resource, new)


def _create(admin: AdminClient, resource: AclTarget, acl: Iterable[Entry]) -> None:
    request = CreateAclsRequest(
        [
            CreateAclsRequest.AclCreation(
                resource.type,
                resource.name,
                resource.pattern,
                entry.principal,
                entry.host,
                entry.operation,
                entry.permission,
            )
            for entry in acl
        ]
    )
    for row in admin.ask(request, CONTROLLER, name="createAcls").results:
        raise_for(row.error_code, row.error_message)


def _remove(admin: AdminClient, options: Options) -> None:
    for resource, acl in rules(options).items():
        if acl:
            question = (
                f"Are you sure you want to remove ACLs: \n {_lines(sorted(acl))}\n "
                f"from resource filter `{resource}`? (y/n)"
            )
        else:
            question = f"Are you sure you want to delete all ACLs for resource filter `{resource}`? (y/n)"
        if options.has("force") or _confirms(question):
            _delete(admin, resource, acl)


def _confirms(question: str) -> bool:
    sys.stdout.write(f"{question}\n")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() == "y"


def _delete(admin: AdminClient, resource: AclTarget, acl: set[Entry]) -> None:
    place = resource.type, resource.name, resource.pattern
    filters = [
        DeleteAclsRequest.DeleteAclsFilter(
            *place, entry.principal, entry.host, entry.operation, entry.permission
        )
        for entry in sorted(acl)
    ] or [DeleteAclsRequest.DeleteAclsFilter(*place, None, None, Operation.ANY, PermissionType.ANY)]
    for row in admin.ask(DeleteAclsRequest(filters), CONTROLLER, name="deleteAcls").filter_results:
        raise_for(row.error_code, row.error_message)
        for each in row.matching_acls:
            raise_for(each.error_code, each.error_message)


def _list(admin: AdminClient, options: Options) -> None:
    found: Rules = {}
    for wanted in resources(options) or [_EVERYTHING]:
        found |= _described(admin, wanted)
    named = principals(options, "principal")
    if options.json:
        print_json(
            [
                {
                    "resourceType": resource.type.name,
                    "name": resource.name,
                    "patternType": resource.pattern.name,
                    "entries": [each.plain() for each in sorted(acl) if not named or each.principal in named],
                }
                for resource, acl in sorted(found.items())
            ]
        )
        return
    if not named:
        _print(found)
    for principal in named:
        sys.stdout.write(f"ACLs for principal `{principal}`\n")
        _print({place: {each for each in acl if each.principal == principal} for place, acl in found.items()})


def _print(found: Rules) -> None:
    for resource, acl in sorted(found.items()):
        if acl:
            sys.stdout.write(f"Current ACLs for resource `{resource}`:\n{_lines(sorted(acl))}\n\n")


def _lines(acl: Iterable[Entry]) -> str:
    return "\n".join(f"\t{entry}" for entry in acl)


def _described(admin: AdminClient, wanted: AclTarget) -> Rules:
    """Return the ACLs of the resources that a filter matches. Raises JavaError."""
    name = None if wanted is _EVERYTHING else wanted.name
    request = DescribeAclsRequest(
        wanted.type, name, wanted.pattern, None, None, Operation.ANY, PermissionType.ANY
    )
    response = admin.ask(request, name="describeAcls")
    raise_for(response.error_code, response.error_message)
    return {
        AclTarget(ResourceType(row.resource_type), row.resource_name, PatternType(row.pattern_type)): {
            Entry(each.principal, each.host, Operation(each.operation), PermissionType(each.permission_type))
            for each in row.acls
        }
        for row in response.resources
    }
