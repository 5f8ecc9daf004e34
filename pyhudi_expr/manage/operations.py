"""The protocol of operations: plan, check, act, verify, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks import LockNotAcquired, UnknownLock


class Action(str, Enum):
    """What happens to a part of the table."""

    WRITE = "write"
    REPLACE = "replace"
    REMOVE = "remove"
    SET = "set"
    """A property or a registration gets a value."""


@dataclass(frozen=True)
class Change:
    """A change that a plan names.

    Attributes:
        what: A path below the base path, the name of a property, or what is changed elsewhere.
        value: What a property is set to.
        bytes: Size of the files that are written anew.
    """

    action: Action
    what: str
    value: str = ""
    bytes: int = 0


class Plan(Protocol):
    """What an operation will do: an immutable value, which a dry run prints."""

    @property
    def operation(self) -> str:
        """The operation, as in `virtual-keys disable`."""

    @property
    def table(self) -> str:
        """The base path."""

    @property
    def changes(self) -> Sequence[Change]:
        """All changes of what is there, in order."""


_P = TypeVar("_P", bound=Plan)
_D = TypeVar("_D")
_R_co = TypeVar("_R_co", covariant=True)


class Operation(Protocol[_P, _D, _R_co]):
    """An operation on one table: its plan, what acting returns, and its report."""

    def plan(self) -> _P:
        """Return what will be done; read only. Raises HudiError if it cannot be planned."""

    def check(self, plan: _P) -> None:
        """Check what must hold before; nothing has changed yet. Raises HudiError."""

    def act(self, plan: _P) -> _D:
        """Change the table, in steps after each of which it is whole; return what was done.

        Raises:
            HudiError: A step failed; those before stay.
        """

    def verify(self, plan: _P, done: _D) -> _R_co:
        """Check what must hold afterwards, by the files; return the report. Raises HudiError."""

    def restore(self, plan: _P) -> str:
        """Undo what `act` did as far as it has to be; return what is as before.

        Raises:
            HudiError: It cannot be undone; the message says what to do.
        """


class OperationFailed(HudiError):  # noqa: N818 - names the finding
    """An operation failed after it began; the message says what is as before."""


def carry_out(operation: Operation[_P, _D, _R_co], plan: _P) -> _R_co:
    """Carry out a plan, and return the report.

    Raises:
        OperationFailed: It failed on the way, and the table was restored; or that failed, too.
        LockNotAcquired: A step did not get the table's lock; the table was restored.
        UnknownLock: The same, as the writers' lock is not known here.
        HudiError: It was refused, and nothing has changed.
    """
    operation.check(plan)
    try:
        return operation.verify(plan, operation.act(plan))
    except (LockNotAcquired, UnknownLock):
        # Another writer is at work, or its lock is not known: that is what the caller has to know.
        operation.restore(plan)
        raise
    except HudiError as error:
        try:
            state = operation.restore(plan)
        except HudiError as further:
            raise OperationFailed(
                f"{plan.table}: {plan.operation} failed: {error}; what it had done could not be "
                f"undone: {further}"
            ) from error
        raise OperationFailed(f"{plan.table}: {plan.operation} failed: {error}; {state}") from error


def run(operation: Operation[_P, _D, _R_co]) -> _R_co:
    """Plan an operation, and carry it out. Raises HudiError."""
    return carry_out(operation, operation.plan())


def plan_record(plan: Plan) -> dict[str, Any]:
    """Return a plan as a dry run prints it for programs."""
    replaced = [change for change in plan.changes if change.action is Action.REPLACE]
    return {
        "operation": plan.operation,
        "table": plan.table,
        "files": len(replaced),
        "bytes": sum(change.bytes for change in replaced),
        "changes": [{**asdict(change), "action": change.action.value} for change in plan.changes],
    }
