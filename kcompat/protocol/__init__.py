"""The wire protocol: message declarations, compiled codecs, headers, error codes. Pure functions."""
