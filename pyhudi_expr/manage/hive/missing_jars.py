"""Which jar HiveServer2 lacks, by the class that its error names."""

from __future__ import annotations

import re

_JARS = {
    "io.pyhudi": "the storage handler's jar",
    "com.esotericsoftware": "kryo-shaded-4.0.2.jar, which Hudi needs and Hive does not bring",
    "org.apache.hudi": "a Hudi bundle and kryo-shaded-4.0.2.jar beside the storage handler's jar",
}
_DOTS = "|".join(_JARS).replace(".", r"\.")
_SLASHES = "|".join(_JARS).replace(".", "/")
_MISSING = re.compile(
    # Often the class is all that Hive shows of a NoClassDefFoundError.
    rf"(?<![\w/])({_SLASHES})/[\w/$]+"
    rf"|(?:ClassNotFoundException|NoClassDefFoundError|[Cc]annot find class)\W+({_DOTS})\.[\w.$]+"
)


def jar_to_add(error: str) -> str:
    """Return what to do about an error of HiveServer2 that a missing class explains; else ""."""
    found = _MISSING.search(error)
    if found is None:
        return ""
    jar = _JARS[(found[1] or found[2]).replace("/", ".")]
    return f"put {jar} on HiveServer2's auxiliary path (hive.aux.jars.path), and restart it"
