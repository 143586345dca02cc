"""SASL (RFC 4422) as Kafka uses it: the exchange on a connection, and one file per mechanism, without IO."""
