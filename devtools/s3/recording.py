"""What a proxy saw: requests, and how many of them had to wait for one another."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qs, unquote, urlsplit


class Fault(Enum):
    """What a proxy did instead of passing on a request or its answer."""

    SLOW_DOWN = "answered 503"
    CUT = "cut the body"
    LOST = "lost the answer"
    REFUSED = "closed the connection"


@dataclass(frozen=True)
class Request:
    """One request and its answer, as a proxy saw them.

    Attributes:
        method: GET, HEAD, PUT, POST or DELETE.
        path: The target as it was sent, with the query.
        range: The header Range, for example "bytes=0-99".
        status: The answer's status; None if the connection was closed without an answer.
        start: When the head of the request had come, in seconds of the monotonic clock.
        end: When the last bytes of the answer were about to be sent, in seconds of that clock. So
            what a client asks because of an answer starts after its end.
        conditional: The headers If-..., for example "if-none-match: *".
        fault: What the proxy did wrong on purpose.
    """

    method: str
    path: str
    range: str | None
    status: int | None
    start: float
    end: float
    conditional: str | None
    fault: Fault | None = None

    @property
    def kind(self) -> str:
        """LIST for a listing, UPLOAD for each step of a multipart upload, else the method."""
        target = urlsplit(self.path)
        query = parse_qs(target.query, keep_blank_values=True)
        if "uploads" in query or "uploadId" in query:
            return "UPLOAD"
        if self.method == "GET" and target.path.strip("/").count("/") == 0:
            return "LIST"
        if self.method == "POST" and "delete" in query:
            return "DELETE"
        return self.method


@dataclass
class Recording:
    """The requests that began and ended within `RecordingProxy.recording()`."""

    begin: float = field(default_factory=time.monotonic)
    requests: list[Request] = field(default_factory=list)

    @property
    def waves(self) -> int:
        """The length of the longest chain of requests one after another.

        A request follows another if it began when the other had ended. Requests that a client sends
        at once overlap only if each takes some time: set the proxy's `delay`.
        """
        return longest_chain(self.requests)

    def summary(self) -> str:
        """Return one line for each request, in the order of their beginnings, after a headline."""
        ordered = sorted(self.requests, key=lambda request: request.start)
        headline = f"{len(ordered)} requests in {self.waves} waves"
        return "\n".join([headline, *(self._line(request) for request in ordered)])

    def _line(self, request: Request) -> str:
        at = 1000 * (request.start - self.begin)
        took = 1000 * (request.end - request.start)
        status = "-" if request.status is None else str(request.status)
        notes = [request.range, request.conditional, request.fault and request.fault.value]
        shown = "".join(f" [{note}]" for note in notes if note)
        return (
            f"{at:9.1f} +{took:6.1f} ms  {request.kind:6} {status:3} {unquote(request.path)}{shown}"
        )


def longest_chain(requests: Sequence[Request]) -> int:
    """Return the most requests of which each began when the one before had ended."""
    length, end = 0, float("-inf")
    # The request that ends first leaves the most time for others.
    for request in sorted(requests, key=lambda request: request.end):
        if request.start >= end:
            length, end = length + 1, request.end
    return length
