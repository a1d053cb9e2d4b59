"""The base classes of all commands: argument checks, error reports and exit statuses."""

from __future__ import annotations

import errno
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import IOBase, TextIOWrapper
from pathlib import Path
from typing import Any

import click

from ..language.errors import SymformerError, quoted
from .option_spellings import COMMANDS, others
from .terminal import PLAINLY, discard, print_error, unwritable, visible

REFUSED = 2  # an error that the user can fix
DEFECT = 70  # a bug in symformer
STOPPED = 130  # stopped by Ctrl-C
CUT_OFF = 141  # the reader of our output has closed it
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)  # errors of a stream; they name no path
ROOM = 1_200  # the longest error message, in characters
QUANTITIES = {"quantity", "quantities", "over", "same"}  # the parameters that name quantities, in every command
OUTPUT = "output"  # the parameter with the output path, in every command


class Command(click.Command):
    """A command that rejects repeated options, except those that accept several values."""

    def make_parser(self, ctx: click.Context) -> Any:
        """Return click's parser, which also accepts the other spellings of the options."""
        parser = super().make_parser(ctx)
        for param in self.params:
            shown = param.opts
            param.opts = [other for option in shown for other in others(self.name or "", option)]
            if param.opts:
                param.add_to_parser(parser, ctx)
            param.opts = shown
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            try:
                _, _, given = self.make_parser(ctx).parse_args(list(args))
            except click.UsageError as error:
                error.ctx = error.ctx or ctx
                raise
            for option, times in Counter(given).items():
                if times > 1 and isinstance(option, click.Option) and not (option.multiple or option.is_flag):
                    raise click.UsageError(f"{option.opts[0]} is given {times} times; it takes one value", ctx)
        ctx.allow_extra_args = True  # rejected below, with a message that says where they belong
        extra = super().parse_args(ctx, args)
        if extra and not ctx.resilient_parsing:
            named = [
                str(ctx.params.get(param.name or "")) for param in self.params if isinstance(param, click.Argument)
            ]
            raise click.UsageError(f"unexpected argument {quoted(extra[0])}{self.belongs(extra[0], named)}", ctx)
        return extra

    def invoke(self, ctx: click.Context) -> Any:
        for name in QUANTITIES & ctx.params.keys():
            ctx.params[name] = _canonical(ctx.params[name])
        if ctx.params.get(OUTPUT) is None:
            return super().invoke(ctx)
        from ..output.files import protect_inputs

        with protect_inputs(_inputs(ctx.params)):
            return super().invoke(ctx)

    def belongs(self, extra: str, named: Sequence[str]) -> str:
        """Return a hint on how to pass a misplaced argument: as a size, an option or a quantity; "" if unknown."""
        from ..language.symbols import SYMBOLS
        from ..quantities import quantities

        taken = {option for param in self.params for option in param.opts}
        name, equals, _ = extra.partition("=")
        if equals:
            places = ["--size", *(["--set", "--option"] if name in SYMBOLS else ["--option", "--set"])]
            return next((f"; write {place} {extra}" for place in places if place in taken), "")
        if extra.isdecimal() and "--set" in taken:
            return "; a size is written --set NAME=VALUE"
        if "--quantity" in taken and (found := [each for each in (extra, *named) if each in quantities()]):
            return f"; a quantity is given as -q {found[0]}"
        return ""


def _canonical(named: Any) -> Any:
    """Return the value of an option that names quantities, with each by its own name."""
    if not named:
        return named
    from ..quantities import canonical

    return canonical(named) if isinstance(named, str) else tuple(map(canonical, named))


def _inputs(params: Mapping[str, Any]) -> Iterator[str | int]:
    """Return every command-line value that may be the path of an input: all except the output."""
    from ..configs.config_json import CONFIG

    for name, value in params.items():
        if name == OUTPUT:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            if each == "-":
                yield 0  # standard input
            elif isinstance(each, str):
                yield each
                yield os.path.join(each, CONFIG)  # if the argument is a folder


class CommandGroup(click.Group):
    """A group of commands that print a result, or one sentence on standard error and set the exit status."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which users typically need them."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args = [COMMANDS.get(args[0], args[0]), *args[1:]]
        if args[0] not in self.commands and not ctx.resilient_parsing:
            from ..targets.opened_target import names

            if args[0] in names():
                raise click.UsageError(
                    f"{quoted(args[0])} is not a command; to show its formula: symformer show {args[0]}", ctx
                )
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            for line in ctx.get_help().splitlines():
                print_error(line)
            ctx.exit(REFUSED)
        return super().parse_args(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **named: Any,
    ) -> Any:
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **named)
        if not standalone_mode:
            return run()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors=PLAINLY)
        sys.exit(_ended(run))


def _ended(run: Callable[[], Any]) -> int:
    """Run a command, report its error if it fails, and return the exit status."""
    output = sys.stdout
    try:
        status = _status(run)
        if sys.stdout is not None and not isinstance(sys.stdout, IOBase):  # click replaces a closed standard output
            raise BrokenPipeError
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        discard(output)
        return CUT_OFF
    except OSError as error:
        discard(sys.stdout)
        return _say(str(unwritable(error)), REFUSED)


def _status(run: Callable[[], Any]) -> int:
    try:
        returned = run()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else _say(str(ended.code), 1)
    except SymformerError as error:
        return _say(str(error), REFUSED)
    except click.Abort:
        return _say("stopped", STOPPED)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "symformer"
        said = " ".join(error.format_message().split()).rstrip(".")
        return _say(said if said.endswith("?") else f"{said}; see `{path} --help`", error.exit_code)
    except click.ClickException as error:
        return _say(error.format_message(), error.exit_code)
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            raise
        if not _here():
            return _say("the working directory has been deleted; change to an existing one", REFUSED)
        if isinstance(error.filename, str) and error.strerror:
            return _say(f"{error.filename}: {error.strerror}", REFUSED)
        return _defect(error)
    except (MemoryError, RecursionError) as error:
        return _say(f"the input is too large to compute ({type(error).__name__})", REFUSED)
    except Exception as error:
        return _defect(error)
    return returned if isinstance(returned, int) else 0


def _here() -> bool:
    """Return True if the working directory exists."""
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _defect(error: Exception) -> int:
    """Report a bug in symformer with its place in the code."""
    where, traceback = "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if Path(__file__).parent.parent in Path(code.co_filename).parents:
            where = f" in {Path(code.co_filename).name}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    said = " ".join(str(error).split())[:200]
    return _say(f"internal error, a bug in symformer: {type(error).__name__}{where}: {said}", DEFECT)


def _say(sentence: str, status: int) -> int:
    text = visible(sentence)
    print_error(f"symformer: {text if len(text) <= ROOM else text[: ROOM - 200] + ' … ' + text[-200:]}")
    return status
