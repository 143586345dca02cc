"""Names of Kafka's classes for OAUTHBEARER, by which settings choose what the broker does."""

from __future__ import annotations

from typing import Final

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"

LOGIN_MODULE: Final = f"{_PACKAGE}.OAuthBearerLoginModule"
"""Login module of JAAS lines."""
UNSECURED_VALIDATOR: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
"""Validator of unsecured tokens, Kafka's default."""
SIGNED_VALIDATORS: Final = (
    f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler",
    f"{_PACKAGE}.secured.OAuthBearerValidatorCallbackHandler",
)
"""Names of the validator of signed tokens: the present one, and an older one."""
UNSECURED_LOGIN: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
"""Source of unsecured tokens for a broker's own logins, Kafka's default."""
FETCHED_LOGINS: Final = (
    f"{_PACKAGE}.OAuthBearerLoginCallbackHandler",
    f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler",
)
"""Names of the source of tokens that an identity provider issues: the present one, and an older one."""
