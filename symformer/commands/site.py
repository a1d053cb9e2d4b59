"""``symformer site``: the static site, with a page for every model and the playground."""

from __future__ import annotations

import os

import click

from . import completion_values
from .base_command import Command
from .terminal import print_error, progress

NOT_OFFERED = ("completion", "site")  # commands without a form in the playground


@click.command("site", cls=Command)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FOLDER",
    shell_complete=completion_values.file,
    help="A new or empty folder, or one that `symformer site` wrote before.",
)
@click.option("--base-url", metavar="URL", help="The address of the published site, for its sitemap and metadata.")
@click.option(
    "--endpoint",
    metavar="URL",
    default="https://huggingface.co",
    show_default=True,
    help="The Hub from which the playground fetches a config.json.",
)
@click.option(
    "--wheels",
    metavar="FOLDER",
    shell_complete=completion_values.file,
    help="Wheels built for Pyodide, such as numpy's, to add to the playground.",
)
@click.option(
    "--without-pdf",
    is_flag=True,
    help="Leave out the Typst compiler, with which the playground writes PDF: 17 MB, loaded for the first PDF.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    shell_complete=completion_values.target,
    help="Write a page for this model only; repeatable.",
)
@click.option("--serve", is_flag=True, help="Then serve the site on this computer, until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port for --serve.")
def command(
    output: str,
    base_url: str | None,
    endpoint: str,
    wheels: str | None,
    without_pdf: bool,
    only: tuple[str, ...],
    serve: bool,
    port: int,
) -> None:
    """Write a static site: a page for every model, and the playground, which runs symformer in the browser.

    The first build downloads Python and Typst for the browser with npm and compiles the packages, which takes a minute;
    later ones use the cache. Any server of static files can serve the folder, such as `python -m http.server`.

    \b
    symformer site -o site/ --only gpt2 --only llama-2-7b --serve
    """
    from ..output.files import check_folder
    from ..site.site_builder import check_site_folder, write_site
    from ..site.site_file import SiteOptions
    from ..site.site_server import site_server
    from .cli import Commands

    offered = {name: each for name, each in Commands().items() if name not in NOT_OFFERED}
    options = SiteOptions(base_url, only or None, endpoint, wheels, offered, not without_pdf)
    check_site_folder(output)
    if wheels is not None:
        check_folder(wheels, to_write=False)
    server = site_server(output, port) if serve else None
    try:
        files, size = 0, 0
        with progress("files") as told:
            for file in write_site(output, options):
                files, size = files + 1, size + len(file.content)
                told(files, None)
        print_error(f"wrote {files:,} files, {size:,} bytes, in {os.path.join(output, '')}")
        if server is not None:
            host, number = server.server_address[:2]
            print_error(f"serving http://{host!s}:{number}/ on this computer; press Ctrl-C to stop")
            server.serve_forever()
    finally:
        if server is not None:
            server.server_close()
