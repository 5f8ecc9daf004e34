"""WebHDFS, HDFS's REST interface: requests to the active NameNode, and by it to DataNodes.

A NameNode that is on standby, or does not answer, is followed by the next one, for as long as a
fail-over takes. Each request is asked as a whole again, so it may be in the middle of a file. What
only a NameNode that says to be active answers is trusted: an observer may be behind, and who
builds an index from an older state of the table would lose rows.

Reference: WebHDFS of Hadoop's documents.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import ssl
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from pyhudi_expr.tables.storage.hadoop.connections import Answer, Body, Connections
from pyhudi_expr.tables.storage.hadoop.name_nodes import NameNodes
from pyhudi_expr.tables.storage.hadoop.sessions import Sessions


class NotActiveError(Exception):
    """The NameNode is on standby, starting or in safe mode: it or another may answer soon."""


_SOON = ("StandbyException", "RetriableException", "SafeModeException", "ObserverRetryOnActive")
_KINDS: dict[str, type[OSError]] = {
    "FileNotFoundException": FileNotFoundError,
    "AccessControlException": PermissionError,
    "SecurityException": PermissionError,
    "FileAlreadyExistsException": FileExistsError,
    "ParentNotDirectoryException": NotADirectoryError,
    "PathIsNotDirectoryException": NotADirectoryError,
}
_LONGEST = 300


def remote_error(place: str, answer: Answer) -> Exception:
    """Return what to raise for an answer that is an error.

    Args:
        place: `host:port` that has sent it.
        answer: With a status of 400 or more.
    """
    try:
        found = json.loads(answer.content)["RemoteException"]
        name, message = str(found["exception"]), str(found["message"])
    except (ValueError, LookupError, TypeError):
        return OSError(f"{place} answers with the status {answer.status}, and not as WebHDFS does")
    text = f"{place}: {name}: {message.strip().partition(chr(10))[0][:_LONGEST]}"
    if any(soon in name or soon in message for soon in _SOON):
        return NotActiveError(text)
    return _KINDS.get(name, OSError)(text)


_T = TypeVar("_T")

_ROOT = "/webhdfs/v1"
_STATE = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus"
_NOT_ACTIVE = frozenset({"standby", "observer", "initializing", "stopping"})
_METHODS = {"CREATE": "PUT", "MKDIRS": "PUT", "RENAME": "PUT", "DELETE": "DELETE"}

_NAME_NODE_SECONDS = 20.0
_DATA_NODE_SECONDS = 60.0
"""A DataNode that reads or writes may itself wait for a fail-over."""
_FAIL_OVER_SECONDS = 45.0
_ALONE_SECONDS = 2.0
"""How long a request is repeated: with another NameNode to come, and without."""
_ACTIVE_SECONDS = 5.0
"""How long a NameNode is trusted to be active: it can become an observer between two requests."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


def client(name_nodes: NameNodes) -> WebHdfsClient:
    """Return the client of a file system; a forked process gets one of its own."""
    return _client(name_nodes, os.getpid())


@lru_cache(maxsize=64)
def _client(name_nodes: NameNodes, _process: int) -> WebHdfsClient:
    return WebHdfsClient(name_nodes)


class WebHdfsClient:
    """The requests, by absolute paths. Thread safe.

    All raise FileNotFoundError, PermissionError, FileExistsError, NotADirectoryError or another
    OSError.
    """

    def __init__(self, name_nodes: NameNodes) -> None:
        self._name_nodes = name_nodes
        self._sessions = Sessions(Connections(_tls(name_nodes)))
        self._lock = threading.Lock()
        self._turn = 0
        self._active_until = 0.0

    def ask(self, operation: str, path: str, **parameters: str) -> Any:  # noqa: ANN401 - JSON
        """Return a NameNode's answer, None if it has no content."""

        def attempt(name_node: str, _: bool) -> Any:  # noqa: ANN401
            answer = self._sent_to(name_node, operation, path, parameters)
            return json.loads(answer.content) if answer.content else None

        return self._repeated(attempt)

    def read(self, path: str, **parameters: str) -> bytes:
        """Return the bytes of a file: all, or with `offset` and `length` some of them."""
        excluded: list[str] = []

        def attempt(name_node: str, _: bool) -> bytes:
            # A DataNode that has just failed; the next attempt forgets it, as it may be the only.
            left_out = {"excludedatanodes": excluded.pop()} if excluded else {}
            try:
                answer = self._sent_to(name_node, "OPEN", path, {**parameters, **left_out})
            except OSError as error:
                if left_out:
                    raise ConnectionError(str(error)) from error
                raise
            url = answer.headers.get("location")
            if answer.status != http.client.TEMPORARY_REDIRECT or url is None:
                return answer.content
            try:
                return self._sent("GET", url, _DATA_NODE_SECONDS).content
            except (ConnectionError, TimeoutError, http.client.HTTPException):
                excluded.append(_place(url))
                raise

        return self._repeated(attempt)

    def write(self, path: str, body: Body) -> None:
        """Write a file, and replace an existing one. Readers see it while it is written."""

        def attempt(name_node: str, _: bool) -> None:
            answer = self._sent_to(name_node, "CREATE", path, {"overwrite": "true"})
            url = answer.headers.get("location")
            if url is None:
                raise OSError(f"the NameNode {name_node} names no DataNode to write to")
            self._sent("PUT", url, _DATA_NODE_SECONDS, body)

        self._repeated(attempt)

    def rename(self, source: str, target: str, how: str) -> None:
        """Rename a file in one step.

        Args:
            source: The file. No other process renames or deletes it.
            target: Its new name, in a directory that exists.
            how: `NONE`: the target must not exist; `OVERWRITE`: it is replaced.
        """

        def attempt(name_node: str, is_first: bool) -> None:
            parameters = {"destination": target, "renameoptions": how}
            try:
                answer = self._sent_to(name_node, "RENAME", source, parameters)
            except FileNotFoundError:
                if is_first:
                    raise
                return  # the attempt before has renamed it, and its answer was lost
            if answer.content and not json.loads(answer.content).get("boolean", True):
                raise FileExistsError(f"{source} could not be renamed to {target}")

        self._repeated(attempt)

    def _repeated(self, attempt: Callable[[str, bool], _T]) -> _T:
        """Return the result of an attempt with the active NameNode, and whether it is the first.

        It is repeated if the NameNode, or the DataNode that it names, does not answer or is not
        active.
        """
        addresses = self._name_nodes.addresses
        is_alone = len(addresses) == 1
        deadline = time.monotonic() + (_ALONE_SECONDS if is_alone else _FAIL_OVER_SECONDS)
        pause, is_first = _FIRST_PAUSE, True
        while True:
            turn = self._turn
            try:
                self._require_active(turn)
                return attempt(addresses[turn], is_first)
            except ssl.SSLCertVerificationError as error:
                raise OSError(
                    f"{addresses[turn]}: its certificate is not accepted, see the storage option"
                    f" root_certificate: {error.verify_message}"
                ) from error
            except (NotActiveError, ConnectionError, TimeoutError) as error:
                problem: Exception = error
            except (http.client.HTTPException, ssl.SSLError) as error:
                problem = error
            except OSError as error:
                if error.errno is None:  # HDFS's own answer
                    raise
                problem = error
            if time.monotonic() + pause > deadline:
                raise OSError(self._failed(addresses[turn], problem)) from problem
            self._go_on_from(turn)
            is_first = False
            if (turn + 1) % len(addresses) == 0:
                time.sleep(random.uniform(pause / 2, pause))
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _failed(self, address: str, problem: Exception) -> str:
        addresses = self._name_nodes.addresses
        if len(addresses) == 1:
            return f"the NameNode {address}, or its DataNode, does not answer: {problem}"
        return (
            f"none of the NameNodes {', '.join(addresses)} has answered as the active one for"
            f" {_FAIL_OVER_SECONDS:g} s; the last one: {problem}"
        )

    def _go_on_from(self, turn: int) -> None:
        """Let the next NameNode have its turn, unless another thread has seen to that."""
        with self._lock:
            if self._turn == turn:
                self._turn = (turn + 1) % len(self._name_nodes.addresses)
                self._active_until = 0.0

    def _require_active(self, turn: int) -> None:
        """Raise NotActiveError if one of several NameNodes says that it is not the active one."""
        asked = time.monotonic()
        if asked < self._active_until or len(self._name_nodes.addresses) == 1:
            return
        name_node = self._name_nodes.addresses[turn]
        url = f"{self._scheme}://{name_node}{_STATE}"
        answer = self._sessions.request("GET", url, _NAME_NODE_SECONDS)
        state = _state(answer)
        if state in _NOT_ACTIVE:
            raise NotActiveError(f"{name_node} is {state}")
        with self._lock:
            # Another thread may have gone on meanwhile: what is known is of this one.
            if self._turn == turn:
                self._active_until = asked + _ACTIVE_SECONDS

    def _sent_to(
        self, name_node: str, operation: str, path: str, parameters: dict[str, str]
    ) -> Answer:
        user = {} if self._sessions.shows_tickets else {"user.name": self._name_nodes.user}
        query = urlencode({"op": operation, **user, **parameters})
        url = f"{self._scheme}://{name_node}{_ROOT}{quote(path)}?{query}"
        return self._sent(_METHODS.get(operation, "GET"), url, _NAME_NODE_SECONDS)

    def _sent(self, method: str, url: str, seconds: float, body: Body | None = None) -> Answer:
        answer = self._sessions.request(method, url, seconds, body)
        if answer.status >= http.client.BAD_REQUEST:
            raise remote_error(_place(url), answer)
        return answer

    @property
    def _scheme(self) -> str:
        return "https" if self._name_nodes.is_tls else "http"


def _place(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def _state(answer: Answer) -> str:
    """Return the state in a NameNode's answer; empty where it does not say."""
    try:
        beans = json.loads(answer.content)["beans"]
        return str(beans[0]["State"]).lower()
    except (ValueError, LookupError, TypeError):
        return ""


def _tls(name_nodes: NameNodes) -> ssl.SSLContext | None:
    # Also without TLS: a NameNode may send callers to a DataNode that has it.
    return ssl.create_default_context(cadata=name_nodes.certificate or None)
