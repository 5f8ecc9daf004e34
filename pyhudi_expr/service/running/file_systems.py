"""Whether the file systems that the settings name can be read at all."""

from __future__ import annotations

from pyhudi_expr.service.settings import ServiceSettings, SettingsError


def check_file_systems(settings: ServiceSettings) -> None:
    """Raises SettingsError if a root is on HDFS, and neither library nor addresses are there.

    No NameNode is asked: one that does not answer now may do so later.
    """
    on_hdfs = [root for root in settings.table_roots if _is_on_hdfs(root)]
    if not on_hdfs:
        return
    # Imported on use: a supervisor needs nothing that reads tables.
    from pyhudi_expr.errors import HudiError
    from pyhudi_expr.tables.storage import Storage, joined_options, process_options
    from pyhudi_expr.tables.storage.hadoop.native_library import WEBHDFS, problem_of
    from pyhudi_expr.tables.storage.locations import via

    options = joined_options(process_options(), settings.all_storage_options)
    try:
        if via(options) == WEBHDFS:
            for root in on_hdfs:
                Storage.open(root, options)
            return
    except HudiError as error:
        raise SettingsError(f"table_roots: {error}") from None
    problem = problem_of(on_hdfs[0])
    if problem:
        raise SettingsError(f"table_roots: {on_hdfs[0]}: {problem}")


def _is_on_hdfs(root: str) -> bool:
    return root.lower().startswith(("hdfs:", "viewfs:"))
