"""What makes Hive delete or move a table's files is refused for Hudi tables in Hive 3.1, too."""

import pytest

from tests.hive.statements.test_kept_files import (
    test_a_database_around_the_table_stays as test_a_database_around_the_table_stays,
)
from tests.hive.statements.test_kept_files import (
    test_no_byte_of_the_table_changes as test_no_byte_of_the_table_changes,
)
from tests.hive.statements.test_kept_files import (
    test_writes_are_refused as test_writes_are_refused,
)

pytestmark = [pytest.mark.hive, pytest.mark.long]
