"""OAuth bearer tokens (RFC 6750) as JSON Web Tokens: the checks that a broker makes of them, and the key sets
by which it checks their signatures.
"""
