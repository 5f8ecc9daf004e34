"""Storage options for other machines, which may have no files of Hadoop's settings."""

from __future__ import annotations

from collections.abc import Mapping

from pyhudi_expr.tables.storage.hadoop.configuration import DIRECTORY_OPTION, hadoop_settings
from pyhudi_expr.tables.storage.hadoop.name_nodes import USER_OPTION, user_of
from pyhudi_expr.tables.storage.hadoop.native_library import VIA_OPTION, WEBHDFS
from pyhudi_expr.tables.storage.option_texts import certificate_text, joined_options


def carried_options(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options with all that reading HDFS by its REST interface needs of this machine.

    Without the option `hdfs_via=webhdfs` they are returned as they are.

    Raises:
        HudiError: Files of settings, or a certificate, cannot be read.
    """
    if options.get(VIA_OPTION) != WEBHDFS:
        return options
    own = {**hadoop_settings(options), USER_OPTION: user_of(options)}
    certificate = certificate_text(options)
    if certificate:
        own["root_certificate"] = certificate
    others = {name: value for name, value in options.items() if name != DIRECTORY_OPTION}
    return joined_options(others, own)
