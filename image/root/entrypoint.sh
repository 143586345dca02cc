#!/usr/bin/env bash
# The entry point of Redpanda's image, for start scripts that call it. There is no other program of it here.
exec rpk "$@"
