"""The comments of the metadata views' columns."""

from pyhudi_expr.index.catalog.status import State
from pyhudi_expr.index.description import INDEXES


def test_the_comment_on_an_indexs_state_names_every_state() -> None:
    (state,) = [column for column in INDEXES.columns if column.name == "state"]
    named = state.comment.replace(" or ", ", ").split(", ")
    assert sorted(named) == sorted(each.value for each in State)
