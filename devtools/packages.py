"""What the project requires, as installed in the current environment."""

from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(name: str, extras: Iterable[str] = ()) -> Iterator[Distribution]:
    """Return a distribution and all that it requires here, each once.

    Raises:
        PackageNotFoundError: One of them is not installed.
    """
    seen: set[tuple[str, str]] = set()
    found: set[str] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        one, extra = waiting.pop()
        key = (canonicalize_name(one), extra)
        if key in seen:
            continue
        seen.add(key)
        installed = distribution(one)
        if key[0] not in found:
            found.add(key[0])
            yield installed
        for text in installed.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting.extend((requirement.name, other) for other in ("", *requirement.extras))
