"""``symformer gallery``: the derivations of all architectures in one folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .. import __version__
from . import completion_values
from .base_command import Command
from .terminal import print_error


@click.command("gallery", cls=Command)
@click.argument("folder", shell_complete=completion_values.file)
@click.option("--check", is_flag=True, help="Write nothing; exit with status 1 if a file is out of date.")
def command(folder: str, check: bool) -> None:
    """Write the derivations of all architectures.

    FOLDER receives a Markdown and a PDF file for each architecture, pages with every class of the catalogue, and a
    README.md that links to all of them. In a checkout of the repository, with its folder reports as FOLDER, the
    command also updates symformer/views/stored_summaries.json, which `symformer list` reads.
    """
    from ..documents.gallery_pages import pages
    from ..output.files import check_folder, stale, write_all
    from ..views.stored_summaries import FILE, file_text

    check_folder(folder, to_write=not check)
    stored = {FILE.name: file_text().encode()} if Path(folder).resolve() == FILE.parents[2] / "reports" else {}
    if check and stored.get(FILE.name, FILE.read_bytes()) != FILE.read_bytes():
        print_error(f"{FILE} is out of date")
        sys.exit(1)
    if stored and not check:
        write_all(str(FILE.parent), stored)
    made = pages(__version__)
    if check:
        if different := stale(folder, made):
            for name in different:
                print_error(f"{folder}/{name} is out of date")
            sys.exit(1)
        print_error(f"{len(made)} files in {folder} are up to date")
        return
    write_all(folder, made)
    print_error(f"wrote {len(made)} files in {folder}")
