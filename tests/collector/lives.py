"""Many lives of one collector: everything is imported once, and each life is a fork that can be killed at once.

    python -m tests.collector.lives ADDRESS PORT FAULTS        a line on stdin: begin a life; its pid on stdout
"""

from __future__ import annotations

import os
import sys

from tests.collector.serving import main


def live(address: str, port: int, faults: float) -> None:
    import psycopg  # noqa: F401
    import uvicorn  # noqa: F401
    import uvloop  # noqa: F401

    from sfumato.collector import serving  # noqa: F401

    for _ in sys.stdin:
        child = os.fork()
        if not child:
            main(address, port, faults)
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    live(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
