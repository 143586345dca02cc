"""Configuration keys of security: one row per key of Kafka 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, Scope, no_effect, refused
from kcompat.config.types import ConfigType
from kcompat.config.validators import OneOf, Range
from kcompat.security.login_lines import (
    FETCHED_LOGINS,
    SIGNED_VALIDATORS,
    UNSECURED_LOGIN,
    UNSECURED_VALIDATOR,
)

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
SHORT = ConfigType.SHORT
LONG = ConfigType.LONG
DOUBLE = ConfigType.DOUBLE
LIST = ConfigType.LIST
CLASS = ConfigType.CLASS
PASSWORD = ConfigType.PASSWORD
HIGH = Importance.HIGH
LOW = Importance.LOW
PER_BROKER = Scope.PER_BROKER
PER_LISTENER = Scope.PER_LISTENER

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("authorizer.class.name", STRING, "",
              "Class that decides what a principal may do, by ACLs; without one everything is allowed.", LOW,
              OneOf(("org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                     "kafka.security.authorizer.AclAuthorizer", ""))),
    *refused(
        "there is no Java virtual machine to load classes into",
        ConfigKey("principal.builder.class", CLASS,
                  "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
                  "Class that turns a connection's credentials into a principal.", scope=PER_BROKER),
    ),
    ConfigKey("sasl.enabled.mechanisms", LIST, "GSSAPI",
              "SASL mechanisms that a listener offers. GSSAPI is not supported.", scope=PER_BROKER),
    ConfigKey("sasl.jaas.config", PASSWORD, None,
              "JAAS login of one mechanism of one listener, as "
              "`listener.name.<listener>.<mechanism>.sasl.jaas.config`.", scope=PER_BROKER),
    ConfigKey("sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI",
              "SASL mechanism by which brokers log in to each other. GSSAPI is not supported.",
              scope=PER_BROKER),
    ConfigKey("sasl.server.max.receive.size", INT, "524288",
              "Largest frame in bytes that is accepted before a client has logged in by SASL."),
    *refused(
        "there is no Java virtual machine to load classes into",
        ConfigKey("sasl.client.callback.handler.class", CLASS, None,
                  "Class that supplies client credentials."),
        ConfigKey("sasl.login.class", CLASS, None, "Login class."),
    ),
    ConfigKey("sasl.login.callback.handler.class", CLASS, None,
              "Class that supplies the token by which a broker logs in to others: Kafka's for unsecured "
              "tokens, which is the default, or Kafka's for those of an identity provider.",
              validator=OneOf((UNSECURED_LOGIN, *FETCHED_LOGINS))),
    ConfigKey("sasl.server.callback.handler.class", CLASS, None,
              "Class that checks the tokens of OAUTHBEARER at a listener, as "
              "`listener.name.<listener>.oauthbearer.sasl.server.callback.handler.class`: Kafka's for "
              "unsecured tokens, which is the default, or Kafka's for signed ones.",
              validator=OneOf((UNSECURED_VALIDATOR, *SIGNED_VALIDATORS))),
    ConfigKey("sasl.oauthbearer.clock.skew.seconds", INT, "30",
              "Difference of clocks tolerated in a token.", LOW),
    ConfigKey("sasl.oauthbearer.expected.audience", LIST, None,
              "Audiences of which a token must name one. Unset, a token must not name any.", LOW),
    ConfigKey("sasl.oauthbearer.expected.issuer", STRING, None, "Issuer accepted in a token.", LOW),
    ConfigKey("sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, "3600000",
              "Time after which the key set is fetched again.", LOW),
    ConfigKey("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, "10000",
              "Longest pause between attempts to get the key set.", LOW),
    ConfigKey("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, "100",
              "First pause between attempts to get the key set.", LOW),
    ConfigKey("sasl.oauthbearer.jwks.endpoint.url", STRING, None,
              "Address of the key set that signed tokens are checked with: https, http or file."),
    ConfigKey("sasl.oauthbearer.scope.claim.name", STRING, "scope", "Claim that holds the scope.", LOW),
    ConfigKey("sasl.oauthbearer.sub.claim.name", STRING, "sub", "Claim that holds the subject.", LOW),
    *refused(
        "Kerberos (GSSAPI) is not supported",
        ConfigKey("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", "Path of `kinit`.", scope=PER_BROKER),
        ConfigKey("sasl.kerberos.min.time.before.relogin", LONG, "60000", "Pause between ticket refreshes.",
                  scope=PER_BROKER),
        ConfigKey("sasl.kerberos.principal.to.local.rules", LIST, "DEFAULT",
                  "Rules from Kerberos principals to short names.", scope=PER_BROKER),
        ConfigKey("sasl.kerberos.service.name", STRING, None, "Kerberos service of the brokers.",
                  scope=PER_BROKER),
        ConfigKey("sasl.kerberos.ticket.renew.jitter", DOUBLE, "0.05",
                  "Random share added to the renewal time.", scope=PER_BROKER),
        ConfigKey("sasl.kerberos.ticket.renew.window.factor", DOUBLE, "0.8",
                  "Share of a ticket's life after which it is renewed.", scope=PER_BROKER),
    ),
    *refused(
        "a broker waits 10 seconds for a token",
        ConfigKey("sasl.login.connect.timeout.ms", INT, None, "Connection timeout to the identity provider.",
                  LOW),
        ConfigKey("sasl.login.read.timeout.ms", INT, None, "Read timeout from the identity provider.", LOW),
    ),
    ConfigKey("sasl.login.refresh.buffer.seconds", SHORT, "300",
              "Time kept between refresh and expiry of a credential.", scope=PER_BROKER),
    ConfigKey("sasl.login.refresh.min.period.seconds", SHORT, "60",
              "Shortest time between refreshes of a credential.", scope=PER_BROKER),
    ConfigKey("sasl.login.refresh.window.factor", DOUBLE, "0.8",
              "Share of a credential's life after which it is refreshed.", scope=PER_BROKER),
    ConfigKey("sasl.login.refresh.window.jitter", DOUBLE, "0.05",
              "Random share added to the refresh time.", scope=PER_BROKER),
    ConfigKey("sasl.login.retry.backoff.max.ms", LONG, "10000", "Longest pause between login attempts.", LOW),
    ConfigKey("sasl.login.retry.backoff.ms", LONG, "100", "First pause between login attempts.", LOW),
    ConfigKey("sasl.oauthbearer.token.endpoint.url", STRING, None,
              "Address at which a broker gets the token by which it logs in to others: https, http or file."),
    ConfigKey("ssl.allow.dn.changes", BOOLEAN, "false",
              "Whether a new certificate may change its distinguished name.", LOW),
    ConfigKey("ssl.allow.san.changes", BOOLEAN, "false",
              "Whether a new certificate may change its alternative names.", LOW),
    ConfigKey("ssl.cipher.suites", LIST, "", "Cipher suites allowed.", scope=PER_BROKER),
    ConfigKey("ssl.client.auth", STRING, "none",
              "Whether clients must, may or need not show a certificate.",
              validator=OneOf(("required", "requested", "none",)), scope=PER_BROKER),
    ConfigKey("ssl.enabled.protocols", LIST, "TLSv1.2,TLSv1.3", "TLS versions allowed.",
              scope=PER_BROKER),
    ConfigKey("ssl.key.password", PASSWORD, None, "Password of the private key.", scope=PER_LISTENER),
    ConfigKey("ssl.keystore.certificate.chain", PASSWORD, None, "Certificate chain in PEM.",
              scope=PER_LISTENER),
    ConfigKey("ssl.keystore.key", PASSWORD, None, "Private key in PEM.", scope=PER_LISTENER),
    ConfigKey("ssl.keystore.location", STRING, None, "File with the key and its certificates.",
              scope=PER_LISTENER),
    ConfigKey("ssl.keystore.password", PASSWORD, None, "Password of the key store.", scope=PER_LISTENER),
    ConfigKey("ssl.keystore.type", STRING, "JKS", "Format of the key store.", scope=PER_LISTENER),
    ConfigKey("ssl.principal.mapping.rules", STRING, "DEFAULT",
              "Rules from certificate names to principals.", LOW),
    ConfigKey("ssl.truststore.certificates", PASSWORD, None, "Trusted certificates in PEM.",
              scope=PER_LISTENER),
    ConfigKey("ssl.truststore.location", STRING, None, "File with the trusted certificates.",
              scope=PER_LISTENER),
    ConfigKey("ssl.truststore.password", PASSWORD, None, "Password of the trust store.",
              scope=PER_LISTENER),
    ConfigKey("ssl.truststore.type", STRING, "JKS", "Format of the trust store.", scope=PER_LISTENER),
    *no_effect(
        "`ssl.enabled.protocols` alone decides",
        ConfigKey("ssl.protocol", STRING, "TLSv1.3", "TLS version preferred.", scope=PER_BROKER),
    ),
    *refused(
        "there is no Java virtual machine to load classes into",
        ConfigKey("ssl.engine.factory.class", CLASS, None, "Class that makes TLS engines.", LOW,
                  scope=PER_BROKER),
        ConfigKey("ssl.keymanager.algorithm", STRING, "SunX509", "Algorithm of the key manager.",
                  scope=PER_BROKER),
        ConfigKey("ssl.provider", STRING, None, "Java provider for TLS.", scope=PER_BROKER),
        ConfigKey("ssl.secure.random.implementation", STRING, None, "Java source of random numbers.", LOW,
                  scope=PER_BROKER),
        ConfigKey("ssl.trustmanager.algorithm", STRING, "PKIX", "Algorithm of the trust manager.",
                  scope=PER_BROKER),
    ),
    ConfigKey("ssl.endpoint.identification.algorithm", STRING, "https",
              "Whether another broker's certificate must be of the host that is connected to; an empty text "
              "means that it need not.", LOW, OneOf(("HTTPS", ""), ignore_case=True), PER_BROKER),
    ConfigKey("delegation.token.expiry.check.interval.ms", LONG, "3600000",
              "How often expired tokens are removed.", LOW, Range(1)),
    ConfigKey("delegation.token.expiry.time.ms", LONG, "86400000", "Time until a token must be renewed.",
              validator=Range(1)),
    ConfigKey("delegation.token.master.key", PASSWORD, None,
              "Older name of `delegation.token.secret.key`."),
    ConfigKey("delegation.token.max.lifetime.ms", LONG, "604800000",
              "Age beyond which a token cannot be renewed.", validator=Range(1)),
    ConfigKey("delegation.token.secret.key", PASSWORD, None,
              "Secret that tokens are made and checked with."),
    *no_effect(
        "no password is ever stored: dynamic settings that hold one are refused",
        ConfigKey("password.encoder.cipher.algorithm", STRING, "AES/CBC/PKCS5Padding",
                  "Cipher for passwords in dynamic configs.", LOW),
        ConfigKey("password.encoder.iterations", INT, "4096", "Iterations of the key derivation.", LOW,
                  Range(1024)),
        ConfigKey("password.encoder.key.length", INT, "128", "Length of the derived key in bits.", LOW,
                  Range(8)),
        ConfigKey("password.encoder.keyfactory.algorithm", STRING, None, "Algorithm of the key derivation.",
                  LOW),
        ConfigKey("password.encoder.old.secret", PASSWORD, None,
                  "Former secret, while it is being replaced."),
        ConfigKey("password.encoder.secret", PASSWORD, None,
                  "Secret that passwords in dynamic configs are encrypted with."),
    ),
    *refused(
        "no controller is ever logged in to",
        ConfigKey("sasl.mechanism.controller.protocol", STRING, "GSSAPI",
                  "SASL mechanism towards controllers.", HIGH),
    ),
    *refused(
        "there is no Java virtual machine to load classes into",
        ConfigKey("security.providers", STRING, None, "Java security providers.", LOW),
    ),
)
# fmt: on
