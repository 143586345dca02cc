"""The control port: the methods of `kcompat.Broker` as HTTP requests, for programs in any language.

`operations` has one table with a row for each HTTP request. The functions behind the rows are in one file for
each resource (`topics`, ...) and know nothing of HTTP. `application` reads requests and writes answers by
that table, `openapi` describes it, and `port` serves it on an event loop. Needs the extra `http`.
"""
