"""Runs in an interpreter that has kio: reads a message with it, writes it again, answers with the bytes.

Stands alone, for the interpreter has nothing of ours. First it prints one JSON line with all [class,
version] that kio knows. Then for each JSON line [class, version, hex] it prints one: {"wire": hex, "read":
bytes read} or {"error": text}.
"""

from __future__ import annotations

import io
import json
import sys
from pkgutil import resolve_name

from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer


def find_entities():
    found = {}
    for versions in schema_name_map.values():
        for version, paths in versions.items():
            for path in paths.values():
                found[path.rpartition(":")[2], version] = path
    return found


def convert(path, wire):
    entity = resolve_name(path)
    message, read = entity_reader(entity)(wire, 0)
    out = io.BytesIO()
    entity_writer(entity)(out, message)
    return {"wire": out.getvalue().hex(), "read": read}


def main():
    entities = find_entities()
    print(json.dumps(sorted(entities)), flush=True)
    for line in sys.stdin:
        name, version, wire = json.loads(line)
        try:
            answer = convert(entities[name, version], bytes.fromhex(wire))
        except Exception as fault:
            answer = {"error": f"{type(fault).__name__}: {fault}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
