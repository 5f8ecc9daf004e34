"""What fuzzers have found so far is parsed, or refused by the errors that a parser may raise."""

from __future__ import annotations

import zipfile

import pytest

from tests.fuzzing.parsers import CORPUS, PARSERS, tried


@pytest.mark.parametrize("name", PARSERS)
def test_recorded_inputs_are_parsed_or_refused(name: str) -> None:
    with zipfile.ZipFile(CORPUS / f"{name}.zip") as recorded:
        contents = [recorded.read(one) for one in recorded.namelist()]
    assert contents, "run `make fuzz-parsers FUZZ_ARGS=--record`"
    for content in contents:
        tried(name, content)
