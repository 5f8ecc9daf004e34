"""Errors become answers that have a status and a message, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyhudi_expr.errors import CorruptFile, HudiError, TableNotFound, UnsupportedTable
from pyhudi_expr.protocol.conversion.decoder import BadRequestError
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.answers.answer import (
    NotPrunedError,
    OtherVersionError,
    Refusal,
    metadata_refusal,
    refusal,
)
from pyhudi_expr.service.answers.encoding import encode_metadata_refusal, encode_refusal
from pyhudi_expr.service.table_roots import RootError
from pyhudi_expr.tables.keys.definition import MissingKeyColumn
from pyhudi_expr.tables.keys.generators import MissingKey
from pyhudi_expr.tables.parsing.budget import OverBudgetError

#: For each error its status where files are asked for, where rows are, and its reason.
ERRORS: dict[Exception, tuple[int, int, str]] = {
    OtherVersionError("what was wrong"): (
        PruneStatus.UNSUPPORTED_VERSION,
        PruneStatus.UNSUPPORTED_VERSION,
        "other_version",
    ),
    RootError("what was wrong"): (
        PruneStatus.BAD_REQUEST,
        PruneStatus.BAD_REQUEST,
        "outside_of_roots",
    ),
    BadRequestError("what was wrong"): (
        PruneStatus.BAD_REQUEST,
        PruneStatus.BAD_REQUEST,
        "bad_request",
    ),
    MissingKey("what was wrong"): (PruneStatus.BAD_REQUEST, PruneStatus.FAILED, "no_keys"),
    MissingKeyColumn("what was wrong"): (PruneStatus.BAD_REQUEST, PruneStatus.FAILED, "no_keys"),
    TableNotFound("what was wrong"): (PruneStatus.NOT_PRUNED, PruneStatus.FAILED, "no_table"),
    UnsupportedTable("what was wrong"): (
        PruneStatus.NOT_PRUNED,
        PruneStatus.FAILED,
        "unsupported_table",
    ),
    CorruptFile("what", "was wrong"): (PruneStatus.NOT_PRUNED, PruneStatus.FAILED, "corrupt_file"),
    OverBudgetError("what", "was wrong"): (
        PruneStatus.NOT_PRUNED,
        PruneStatus.FAILED,
        "over_budget",
    ),
    HudiError("what was wrong"): (PruneStatus.NOT_PRUNED, PruneStatus.FAILED, "table_unreadable"),
}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_says_what_the_caller_can_do(error: Exception) -> None:
    files, rows, reason = ERRORS[error]
    assert refusal(error) == Refusal(files, reason, str(error))
    assert metadata_refusal(error) == Refusal(rows, reason, str(error))


def test_what_is_not_pruned_has_its_own_reason() -> None:
    busy = NotPrunedError("busy", "too many wait")
    assert refusal(busy) == Refusal(PruneStatus.NOT_PRUNED, "busy", "too many wait")
    assert metadata_refusal(busy) == Refusal(PruneStatus.FAILED, "busy", "too many wait")


@pytest.mark.parametrize("of", [refusal, metadata_refusal])
def test_an_error_that_nobody_expects_does_not_show_its_text(
    of: Callable[[Exception], Refusal],
) -> None:
    assert of(KeyError("a literal of the filter")) == Refusal(
        PruneStatus.FAILED, "failed", "KeyError in the service, see its log"
    )


def test_a_refusal_is_sent_with_what_the_caller_needs_to_know_it_by() -> None:
    refused = Refusal(PruneStatus.NOT_PRUNED, "busy", "too many wait")
    known = {"protocolVersion": 1, "requestId": "r", "basePath": "/t"}
    expected = {**known, "status": PruneStatus.NOT_PRUNED, "message": "too many wait"}
    assert encode_refusal(ttypes.PruneRequest(**known), refused) == ttypes.PruneResponse(**expected)
    assert encode_metadata_refusal(
        ttypes.MetadataRequest(**known), refused
    ) == ttypes.MetadataResponse(**expected)


def test_a_request_without_a_name_is_refused_with_empty_ones() -> None:
    refused = encode_refusal(ttypes.PruneRequest(), Refusal(PruneStatus.BAD_REQUEST, "bad", "bad"))
    assert (refused.requestId, refused.basePath) == ("", "")
