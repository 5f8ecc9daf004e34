"""Options that several groups of commands share."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, TypeAlias

import click

#: The value of a command's option, as click has converted it.
OptionValue: TypeAlias = Any

_LONGEST = 200
"""Characters of a sentence in a list of commands."""

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
"""The parameter `as_json`."""


class Commands(click.Group):
    """A group that shows whole sentences in its help, and suggests a command for a typo."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does. Raises click.UsageError with the nearest command."""
        near = get_close_matches(args[0], self.list_commands(ctx), 1)
        if near and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no command {args[0]!r}; is it {near[0]}?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with whole sentences."""
        names = self.list_commands(ctx)
        found = [(name, command) for name in names if (command := self.get_command(ctx, name))]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_LONGEST)) for name, one in found])


def examples(*pairs: tuple[str, str]) -> str:
    """Return the end of a command's help: example commands, with their purpose."""
    width = max(len(typed) for typed, _ in pairs)
    lines = (
        f"  {typed:{width}}  # {meaning}" if meaning else f"  {typed}" for typed, meaning in pairs
    )
    return "\b\nExamples:\n" + "\n".join(lines)


def comma_separated(texts: str) -> tuple[str, ...]:
    """Split comma-separated names."""
    return tuple(name.strip() for name in texts.split(",") if name.strip())
