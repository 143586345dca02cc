"""Who may do what (later: SASL, TLS principals, ACLs, quotas)."""
