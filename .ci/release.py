#!/usr/bin/env python3
"""Build the files of a release and check them: ``python .ci/release.py --tag v0.2.0``.

The version, the changelog, CITATION.cff and the tag must agree, and nothing may be uncommitted. The script builds the
sdist from the last commit, the wheel from the sdist, checks their metadata, and installs the wheel alone in a fresh
environment of every Python, where it runs the README's first command. It uploads nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TOOLS = ("build==1.6.1", "twine==7.0.0")
TOTAL = "124,439,808"  # the parameters of GPT-2, Radford et al. 2019, as transformers builds it


class ReleaseError(Exception):
    """A release that must not be published, with the reason."""


def disagreements(version: str, citation: str, changelog: str, tag: str | None) -> Iterator[str]:
    """Yield every place that does not state the version.

    Parameters
    ----------
    version
        The version of the package.
    citation, changelog
        The text of CITATION.cff and of CHANGELOG.md.
    tag
        The tag of the release, or None if there is none yet.

    Examples
    --------
    >>> list(disagreements("0.2.0", "version: 0.2.0", "## 0.2.0", "v0.2.0"))
    []
    >>> list(disagreements("0.2.0", "version: 0.1.0", "## Unreleased", "v0.3.0"))  # doctest: +NORMALIZE_WHITESPACE
    ['CITATION.cff states version 0.1.0, and the package 0.2.0',
     'the first section of CHANGELOG.md is "Unreleased"; name it 0.2.0',
     'the tag is v0.3.0; for version 0.2.0 it must be v0.2.0']

    """
    cited = re.search(r"^version: *(\S+)", citation, re.MULTILINE)
    if cited is None or cited[1] != version:
        yield f"CITATION.cff states version {cited[1] if cited else 'none'}, and the package {version}"
    section = re.search(r"^## (.+)$", changelog, re.MULTILINE)
    if section is None or section[1].split()[0] != version:
        yield f'the first section of CHANGELOG.md is "{section[1] if section else ""}"; name it {version}'
    if tag is not None and tag != f"v{version}":
        yield f"the tag is {tag}; for version {version} it must be v{version}"


def package_version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "symformer/__init__.py").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ReleaseError("symformer/__init__.py states no __version__")
    return found[1]


def interpreter(version: str) -> str | None:
    """Return the path of a Python of this version, on the PATH or installed by pyenv."""
    folder = Path.home() / ".pyenv/versions"
    installed = sorted(folder.glob(f"{version}.*/bin/python"), reverse=True)
    for found in (*map(str, installed), shutil.which(f"python{version}")):
        if found and run([found, "--version"]).startswith(f"Python {version}"):
            return found
    return None


def run(command: Sequence[str | Path], folder: Path = ROOT) -> str:
    """Run a command and return its output; raise ReleaseError with the end of it if it fails."""
    ran = subprocess.run(  # noqa: S603
        [str(word) for word in command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ran.returncode:
        shown = "\n".join(ran.stdout.splitlines()[-20:])
        raise ReleaseError(f"{' '.join(map(str, command))} exited with status {ran.returncode}:\n{shown}")
    return ran.stdout


def environment(python: str, folder: Path, *packages: str | Path) -> Path:
    """Return the folder of programs of a new environment with these packages."""
    run([python, "-m", "venv", folder])
    run([folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    return folder / "bin"


def main_command() -> list[str]:
    """Return the README's first command, after the installation."""
    readme = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"^pip install \. && symformer (.+)$", readme, re.MULTILINE)
    if found is None:
        raise ReleaseError("the README does not start with a command to install and run symformer")
    return found[1].split()


def build(work: Path, output: Path) -> Path:
    """Build the sdist from the last commit and the wheel from it, and return the path of the wheel."""
    source = work / "source"
    source.mkdir()
    run(["git", "archive", "--output", work / "source.tar", "HEAD"])
    shutil.unpack_archive(work / "source.tar", source, filter="data")
    programs = environment(sys.executable, work / "tools", *TOOLS)
    shutil.rmtree(output, ignore_errors=True)
    run([programs / "python", "-m", "build", "--outdir", output, source])
    made = sorted(output.iterdir())
    print(run([programs / "twine", "--no-color", "check", "--strict", *made]).strip())
    (wheel,) = output.glob("*.whl")
    return wheel


def try_alone(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel alone and run the README's first command in an empty folder."""
    programs = environment(python, folder / "environment", wheel)
    run([programs / "python", "-m", "pip", "check"])
    empty = folder / "empty"
    empty.mkdir()
    version = package_version()
    if version not in run([programs / "symformer", "--version"], empty):
        raise ReleaseError(f"the installed package does not state version {version}")
    command = main_command()
    run([programs / "symformer", *command], empty)
    written = empty / command[-1]
    if written.read_bytes()[:4] != b"%PDF":
        raise ReleaseError(f"symformer {' '.join(command)} wrote no PDF")
    if TOTAL not in run([programs / "symformer", "show", "gpt2"], empty):
        raise ReleaseError(f"symformer show gpt2 does not print {TOTAL}")


def check(wanted: argparse.Namespace) -> None:
    version = package_version()
    citation, changelog = ((ROOT / name).read_text("utf-8") for name in ("CITATION.cff", "CHANGELOG.md"))
    faults = list(disagreements(version, citation, changelog, wanted.tag))
    if changed := run(["git", "status", "--porcelain"]).split("\n")[:-1]:
        faults.append(
            f"{len(changed)} files are not committed, such as {changed[0][3:]}; only the last commit is built"
        )
    for fault in faults:
        print(f"{'draft: ' if wanted.draft else ''}{fault}")
    if faults and not wanted.draft:
        raise ReleaseError(f"{len(faults)} reasons above; --draft builds anyway")
    found = {each: interpreter(each) for each in wanted.python or PYTHONS}
    missing = [each for each, path in found.items() if path is None]
    if missing and not wanted.allow_missing:
        raise ReleaseError(f"there is no Python {', '.join(missing)}; install it, or give --allow-missing")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        wheel = build(work, wanted.output.resolve())
        for each, path in found.items():
            if path is None:
                print(f"Python {each}: not installed, not tried")
                continue
            (work / each).mkdir()
            try_alone(path, wheel, work / each)
            print(f"Python {each}: installed alone, {' '.join(main_command())} wrote a PDF")
    for made in sorted(wanted.output.iterdir()):
        print(f"{hashlib.sha256(made.read_bytes()).hexdigest()}  {made.name}  {made.stat().st_size:,} bytes")
    print(f"{'draft of ' if faults else ''}symformer {version} is in {wanted.output}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tag", help="the tag of the release, such as v0.2.0; it must agree with the version")
    parser.add_argument("--python", action="append", metavar="VERSION", help=f"try only these (default: {PYTHONS})")
    parser.add_argument("--allow-missing", action="store_true", help="try the installed ones of these Pythons")
    parser.add_argument("--draft", action="store_true", help="build although the version does not agree yet")
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "dist", help="the folder of the files; it is emptied"
    )
    try:
        check(parser.parse_args())
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
