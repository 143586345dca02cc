"""The wire: message declarations, compiled codecs, headers, error codes. Pure: bytes in, values out."""
