"""`pyhudi completion`: complete commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from pyhudi_expr.cli.options import examples

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_PYHUDI_COMPLETE"


@click.command(
    short_help="Let a shell complete commands and options.",
    epilog=examples(
        ('eval "$(pyhudi completion bash)"', "in ~/.bashrc"),
        ('eval "$(pyhudi completion zsh)"', "in ~/.zshrc, after compinit"),
        ("pyhudi completion fish > ~/.config/fish/completions/pyhudi.fish", ""),
    ),
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that makes SHELL complete commands, options and their choices."""
    made = get_completion_class(shell)
    assert made is not None
    root = context.find_root().command
    click.echo(made(root, {}, "pyhudi", _VARIABLE).source())
