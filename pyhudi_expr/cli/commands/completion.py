"""`pyhudi completion`: complete commands, options, columns and indexes in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from pyhudi_expr.cli.options import COMPLETION_VARIABLE, examples

_SHELLS = ("bash", "zsh", "fish")


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
    """Print a script that makes SHELL complete commands, options and what these take.

    After TABLE it completes columns and indexes of it, if they can be read within a second.
    """
    made = get_completion_class(shell)
    assert made is not None
    root = context.find_root().command
    click.echo(made(root, {}, "pyhudi", COMPLETION_VARIABLE).source())
