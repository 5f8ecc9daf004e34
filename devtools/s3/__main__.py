"""`python -m devtools.s3 DIRECTORY`: an S3 server behind the proxy, in a process of their own.

DIRECTORY keeps the buckets. The first line of the output is a JSON object, the environment by which
clients find the server; it has one bucket, `lake`. Then each line of the input is a command, and
the end of the input ends the process:

delay SECONDS   how long each request waits from now on
requests        prints how many requests were answered since the last such command, and in how many
                waves, as a JSON object
"""

import argparse
import json
import sys
from pathlib import Path

from devtools.process import interrupt_at_sigterm
from devtools.s3.proxy import RecordingProxy
from devtools.s3.recording import longest_chain
from devtools.s3.server import S3Server

BUCKET = "lake"


def main(directory: Path) -> None:
    """Serve until the input ends."""
    with S3Server(directory) as server, RecordingProxy(server.port) as proxy:
        server.create_bucket(BUCKET)
        print(json.dumps(server.environment(proxy.endpoint)), flush=True)
        for line in sys.stdin:
            command, _, argument = line.strip().partition(" ")
            if command == "delay":
                proxy.delay = float(argument)
            elif command == "requests":
                seen = list(proxy.requests)
                proxy.requests.clear()
                counts = {"requests": len(seen), "waves": longest_chain(seen)}
                print(json.dumps(counts), flush=True)
            else:
                raise SystemExit(f"unknown command {command!r}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        "devtools.s3", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    given = parser.parse_args()
    interrupt_at_sigterm()
    main(given.directory)
