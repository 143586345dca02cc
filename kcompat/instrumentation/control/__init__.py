"""The control port: what `kcompat.Broker` offers to Python programs, for programs in any language by HTTP.

`operations` has one table with a row for each HTTP request. The functions behind the rows stand in one file a
resource (`topics`, ...) and know nothing of HTTP. `application` reads requests and writes answers by that
table, `openapi` describes it, and `port` serves it on an event loop. Needs the extra `http`.
"""
