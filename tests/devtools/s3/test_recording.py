"""Waves and summaries of recorded requests."""

from devtools.s3.recording import Fault, Recording, Request


def request(start: float, end: float, path: str = "/lake/a", **more: object) -> Request:
    return Request(
        **{
            "method": "GET",
            "path": path,
            "range": None,
            "status": 200,
            "start": start,
            "end": end,
            "conditional": None,
            **more,
        }
    )


def waves(*times: tuple[float, float]) -> int:
    return Recording(0, [request(*one) for one in times]).waves


def test_requests_at_the_same_time_are_one_wave():
    assert waves() == 0
    assert waves((0, 3), (1, 4), (2, 5)) == 1


def test_a_request_follows_those_that_ended_before():
    assert waves((0, 1), (1, 2), (2, 3)) == 3
    assert waves((2, 3), (0, 1), (1, 2)) == 3
    # A long one beside a chain of short ones.
    assert waves((0, 10), (0, 1), (2, 3), (4, 5)) == 3
    assert waves((0, 4), (3, 5), (4, 6), (5, 7)) == 2


def test_the_kind_tells_listings_and_uploads_apart():
    kinds = {
        ("GET", "/lake/t/a"): "GET",
        ("GET", "/lake?list-type=2&prefix=t%2F"): "LIST",
        ("GET", "/lake/?prefix="): "LIST",
        ("HEAD", "/lake/t"): "HEAD",
        ("POST", "/lake/t?uploads"): "UPLOAD",
        ("PUT", "/lake/t?partNumber=1&uploadId=x"): "UPLOAD",
        ("POST", "/lake?delete"): "DELETE",
    }
    assert {key: request(0, 1, key[1], method=key[0]).kind for key in kinds} == kinds


def test_a_summary_has_a_line_for_each_request_in_order():
    later = request(1.0, 1.25, "/lake/a%20b", range="bytes=0-9", status=206, fault=Fault.CUT)
    first = request(0.5, 0.51, method="PUT", conditional="if-none-match: *", status=412)
    lost = request(2.0, 2.0, status=None, fault=Fault.REFUSED)
    assert Recording(0, [later, lost, first]).summary().splitlines() == [
        "3 requests in 3 waves",
        "    500.0 +  10.0 ms  PUT    412 /lake/a [if-none-match: *]",
        "   1000.0 + 250.0 ms  GET    206 /lake/a b [bytes=0-9] [cut the body]",
        "   2000.0 +   0.0 ms  GET    -   /lake/a [closed the connection]",
    ]
