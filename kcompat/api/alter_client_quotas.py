"""AlterClientQuotas (key 49), versions 0-1: set and remove quotas (KIP-546).

Behaviour
- Each entity succeeds or fails by itself, and all its changes or none are made. The quotas are in force on
  this broker before the response is sent, on the others within a second.
- Quotas are stored among the dynamic configs of users, client ids and addresses, where Kafka 3.9 with
  ZooKeeper stores them. Other configs, such as the credentials of a user, stay.
- A quota must be greater than 0, and a byte or connection rate a whole number. To remove a quota that is not
  set is no error.
- An entity that is named twice, or with a key twice, is refused; none of its changes is made.

Version notes
- 1: flexible.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from kcompat.cluster.quota_entities import config_entity
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from kcompat.security.quotas.changes import entity_of, fault_of_entity, fault_of_quota, keys_of, stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.api.context import RequestContext, Services
    from kcompat.security.quotas.limits import QuotaEntity

_Change = AlterClientQuotasRequest.OpData
_Answer = AlterClientQuotasResponse.EntryData
_Part = AlterClientQuotasResponse.EntityData


def handle(
    context: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse | Promise[AlterClientQuotasResponse]:
    """Change the quotas of each entity, and answer once they are stored."""
    named = [{part.entity_type: part.entity_name for part in entry.entity} for entry in request.entries]
    if not context.may(Operation.ALTER_CONFIGS, CLUSTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return AlterClientQuotasResponse(entries=[_answer(names, error, error.message) for names in named])
    times = Counter(frozenset(names.items()) for names in named)
    answers: dict[frozenset[tuple[str, str | None]], Promise[_Answer]] = {}
    for names, entry in zip(named, request.entries, strict=True):
        key = frozenset(names.items())
        fault = "The entity is named more than once." if times[key] > 1 else _fault(names, entry.ops)
        if fault is not None:
            answers[key] = Promise.resolved(_answer(names, ErrorCode.INVALID_REQUEST, fault))
        elif request.validate_only:
            answers[key] = Promise.resolved(_answer(names, ErrorCode.NONE, None))
        else:
            done: Promise[ErrorCode] = Promise()
            _store(context.services, entity_of(names), entry.ops, done)
            answers[key] = done.map(partial(_stored, names))
    return gather(list(answers.values())).map(lambda entries: AlterClientQuotasResponse(entries=entries))


def _fault(names: Mapping[str, str | None], changes: Sequence[_Change]) -> str | None:
    """Return the reason to refuse the changes of an entity, or None."""
    fault = fault_of_entity(names)
    if fault is not None:
        return fault
    keys = Counter(change.key for change in changes)
    for change in changes:
        if keys[change.key] > 1:
            return f"Duplicate quota key {change.key} not updating quota for this entity"
        if not change.remove:
            fault = fault_of_quota(entity_of(names), change.key, change.value)
            if fault is not None:
                return fault
    return None


def _store(
    services: Services, entity: QuotaEntity, changes: Sequence[_Change], done: Promise[ErrorCode]
) -> None:
    """Store the changes of an entity; store them again if its configs were changed in between."""
    kind, name = config_entity(entity)
    basis = services.cluster.metadata.image.configs(kind, name)
    configs = dict(basis)
    quota_keys = keys_of(entity)
    for change in changes:
        if change.remove and change.key in quota_keys:  # not the credentials of a user, for instance
            configs.pop(change.key, None)
        elif not change.remove:
            configs[change.key] = stored(change.key, change.value)
    if configs == basis:
        done.complete(ErrorCode.NONE)
        return

    def answered(error: ErrorCode) -> None:
        if error is ErrorCode.INVALID_UPDATE_VERSION:
            _store(services, entity, changes, done)
        else:
            done.complete(error)

    services.cluster.configs.replace(kind, name, configs, basis).then(answered, done.fail)


def _stored(names: Mapping[str, str | None], error: ErrorCode) -> _Answer:
    return _answer(names, error, error.message if error else None)


def _answer(names: Mapping[str, str | None], error: ErrorCode, message: str | None) -> _Answer:
    return _Answer(error, message, [_Part(kind, name) for kind, name in names.items()])
