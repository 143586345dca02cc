"""`python -m kcompat.cli.processes SOCKET`: one broker of a cluster of processes, run by the command.

SOCKET is the descriptor number of the process's end of the channel.
"""

from __future__ import annotations

import socket
import sys

from kcompat.cli import asyncio_without_tls

if __name__ == "__main__":
    asyncio_without_tls.load()
    from kcompat.cli.processes import member

    sys.exit(member.run(socket.socket(fileno=int(sys.argv[1]))))
