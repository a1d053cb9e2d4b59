"""The playground: its answers, its forms, its packages, and the folder that the site is written to."""

import ast
import importlib.util
import json
import marshal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from threading import Thread
from zipfile import ZipFile

import click
import pytest
import sympy
from click.testing import CliRunner

import symformer as sf
from symformer.commands.browser_entry import answer
from symformer.commands.cli import COMMANDS, Commands, cli
from symformer.language.errors import SiteError, SymformerError
from symformer.site import browser_answers, package_archive, site_builder
from symformer.site.browser_answers import VIEWS
from symformer.site.command_forms import command_forms
from symformer.site.compile_modules import compile_archive
from symformer.site.site_address import checked_address, checked_origin
from symformer.site.site_file import SiteFile, SiteOptions
from symformer.site.site_server import site_server


def ask(**question: object) -> dict:
    return json.loads(answer(json.dumps(question)))


def test_each_view_of_a_model_is_html() -> None:
    for view in VIEWS:
        found = ask(view=view, target="gpt2")
        assert "error" not in found
        assert len(found["text" if view == "svg" else "html"]) > 2000
        assert "<script" not in json.dumps(found)
        assert 'style="' not in found.get("html", "")  # the policy of the page forbids inline styles


def test_formula_view_states_the_value_of_the_model() -> None:
    assert "<strong>124,439,808</strong> parameters" in ask(view="formula", target="gpt2")["html"]
    found = ask(view="formula", target="gpt2", quantity="flops", sets=["B=2", "S=10"])
    assert f"{sf.model('gpt2').formula('flops').value(B=2, S=10):,}" in found["html"]


def test_costs_have_usual_sizes_unless_they_are_given() -> None:
    found = ask(view="costs", target="gpt2", sets=["S=77"])
    assert found["sets"] == ["S=77", "B=1", "C=512"]
    assert f"{sf.model('gpt2').formula('flops').value(B=1, S=77):,}" in found["html"]
    assert f"{sf.model('gpt2').formula('kv-cache').value(B=1, C=512):,}" in found["html"]


def test_a_command_returns_what_it_prints_and_the_files_it_writes() -> None:
    found = ask(arguments=["show", "gpt2", "--json"])
    assert (json.loads(found["text"])["value"], found["status"], found["files"]) == (124_439_808, 0, [])
    found = ask(arguments=["derive", "gpt2", "-o", "a.md"])
    assert [file["name"] for file in found["files"]] == ["a.md"]
    assert found["said"] == "wrote a.md"


def test_files_of_a_question_are_gone_at_the_next() -> None:
    config = {"config.json": json.dumps({"model_type": "gpt2", "n_layer": 3})}
    assert ask(arguments=["show", "config.json"], files=config)["status"] == 0
    assert "config.json" in ask(arguments=["show", "config.json"])["error"]


def test_a_model_of_the_hub_is_read_from_its_folder() -> None:
    config = {"a-lab/tiny/config.json": json.dumps({"model_type": "gpt2", "n_layer": 3})}
    found = json.loads(ask(arguments=["show", "a-lab/tiny", "--json"], files=config)["text"])
    assert (found["target"], found["symbols"]["L"]) == ("a-lab/tiny", 3)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"model_type": "none-such"}', '{"model_type": 5}'])
def test_bad_configs_are_one_sentence(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    found = ask(view="formula", target="config.json", files={"config.json": text})
    assert list(found) == ["error"]
    assert "internal error" not in found["error"]
    assert "\n" not in found["error"]


def test_names_in_configs_are_escaped() -> None:
    config = {"model_type": "gpt2", "n_layer": 2, "_name_or_path": "<img src=x>"}
    name = "<img src=x onerror=alert(1)>"
    found = ask(view="formula", target=name, files={f"{name}/config.json": json.dumps(config)})
    assert "<img" not in found.get("html", "")


@pytest.mark.exhaustive
def test_missing_packages_are_named() -> None:
    commands = {
        "numpy": ["sweep", "gpt2", "--grid", "L=1:9"],
        "matplotlib": ["plot", "gpt2", "--kind", "shares", "-o", "a.svg"],
        "typst": ["plot", "gpt2", "-o", "a.png"],
    }
    code = (
        "import json, sys\n"
        "from importlib.machinery import PathFinder\n"
        "from symformer.commands.browser_entry import answer\n"
        "from symformer.site.browser_answers import COMPILED\n"
        "class Without:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        return None if name in COMPILED else PathFinder.find_spec(name, path, target)\n"
        "sys.meta_path[sys.meta_path.index(PathFinder)] = Without\n"
        "for each in json.load(sys.stdin):\n"
        "    print(answer(json.dumps({'arguments': each})))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps([*commands.values()]), capture_output=True, text=True, check=True
    )
    for package, line in zip(commands, ran.stdout.splitlines(), strict=True):
        error = json.loads(line)["error"]
        assert f" {package}, which this playground {'runs only' if package == 'typst' else 'does not have'}" in error
        assert "install" not in error


def test_forms_have_every_option_of_every_command() -> None:
    forms = {form["name"]: form for form in command_forms(Commands())}
    assert list(forms) == list(COMMANDS)
    for name, command in Commands().items():
        fields = forms[name]["fields"]
        assert len(fields) == len([param for param in command.params if not getattr(param, "hidden", False)])
        for field in fields:
            (param,) = (param for param in command.params if param.name == field["name"])
            assert field["required"] == param.required
            targets = ("TARGET", "TARGET...", "[TARGET]", "[TARGETS]...", "A B [C]...")
            assert field["target"] == (field["label"] in targets)
            if isinstance(param, click.Option):
                assert field["spellings"] == param.opts
                assert field["kind"] == "flag" if param.is_flag else field["kind"] != "flag"


@pytest.mark.parametrize(
    "wrong",
    ["huggingface.co", "ftp://a.org", "https://a.org/b", "https://a.org; x", "https://u@a", "http://[", "http://a:b"],
)
def test_endpoints_that_would_widen_the_policy_are_refused(wrong: str) -> None:
    with pytest.raises(SiteError):
        checked_origin(wrong)
    assert checked_origin("http://127.0.0.1:80/") == "http://127.0.0.1:80"


def test_libraries_lose_docstrings_and_keep_assertions(tmp_path: Path) -> None:
    source = '"""Module."""\ndef f(x):\n    """Say."""\n    assert x > 1\n    return x\nclass A:\n    """A."""\n'
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in (
            "site-packages/sympy/a.py",
            "site-packages/symformer/a.py",
            "site-packages/symformer/components/a.py",
        ):
            archive.writestr(name, source)
        archive.writestr("site-packages/symformer/a.json", "{}")
    compile_archive(str(tmp_path / "a.zip"), str(tmp_path / "b.zip"))
    with ZipFile(tmp_path / "b.zip") as archive:
        assert archive.namelist() == [
            "site-packages/sympy/a.pyc",
            "site-packages/symformer/a.pyc",
            "site-packages/symformer/components/a.py",
            "site-packages/symformer/components/__pycache__/a.cpython-314.pyc",
            "site-packages/symformer/a.json",
        ]
        spaces: list[dict] = [{}, {}]
        for space, name in zip(spaces, archive.namelist()[:2], strict=True):
            content = archive.read(name)
            assert content[:4] == importlib.util.MAGIC_NUMBER
            exec(marshal.loads(content[16:]), space)  # noqa: S102, S302
    library, own = spaces
    assert (library["f"].__doc__, library["A"].__doc__) == (None, None)
    assert own["f"].__doc__ == "Say."
    with pytest.raises(AssertionError):
        library["f"](1)


def test_the_archive_has_the_packages_without_tests() -> None:
    stdlib = BytesIO()
    with ZipFile(stdlib, "w") as archive:
        archive.writestr("json/__init__.py", "")
        archive.writestr("smtplib.py", "")
    found = [path for path, _ in package_archive._sources({"python_stdlib.zip": stdlib.getvalue()}, None)]
    assert {"json/__init__.py", "site-packages/symformer/architectures/presets.json"} <= {*found}
    assert {"site-packages/sympy/core/add.py", "site-packages/symformer/templates/derivation.html.jinja"} <= {*found}
    assert not [path for path in found if "/tests/" in path or "/templates/site/" in path or path == "smtplib.py"]
    assert len(found) == len({*found})


def test_wheels_for_pyodide_are_packed_and_others_refused(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="has no wheels"):
        package_archive.check_wheels(str(tmp_path))
    with ZipFile(tmp_path / "tiny-1.0-cp314-cp314-pyodide_2026_0_wasm32.whl", "w") as archive:
        archive.writestr("tiny/__init__.py", "x = 1")
    stdlib = BytesIO()
    ZipFile(stdlib, "w").close()
    found = dict(package_archive._sources({"python_stdlib.zip": stdlib.getvalue()}, str(tmp_path)))
    assert found["site-packages/tiny/__init__.py"] == b"x = 1"
    (tmp_path / "tiny-1.0-cp314-cp314-manylinux_2_28_x86_64.whl").write_bytes(b"")
    with pytest.raises(SiteError, match="not built for Pyodide"):
        package_archive.check_wheels(str(tmp_path))


# Modules of SymPy that import a part that is left out: to print its objects, to run SymPy's tests, or to parse C.
PRINTS, TESTS = ("printing/latex.py", "printing/pretty/pretty.py"), ("utilities/decorator.py", "utilities/pytest.py")
OTHERS = ("core/trace.py", "parsing/sym_expr.py", "utilities/_compilation/util.py", "utilities/runtests.py")


@pytest.mark.exhaustive
def test_no_other_module_of_sympy_or_symformer_imports_the_parts_that_are_left_out() -> None:
    gone = tuple(
        each.removesuffix(".py").rstrip("/").replace("/", ".")
        for each in package_archive.UNUSED
        if each.startswith("sympy")
    )
    found = set()
    for package in (sympy, sf):
        root = Path(package.__file__).parent
        for place in root.rglob("*.py"):
            path = f"{root.name}/{place.relative_to(root).as_posix()}"
            if package_archive._is_used(path):
                names = _imported(ast.parse(place.read_text("utf-8")), path)
                found |= {path for name in names if name.startswith(gone)}
    allowed = {f"sympy/{path}" for path in (*PRINTS, *TESTS, *OTHERS, "utilities/tmpfiles.py")}
    assert found == allowed


def _imported(tree: ast.Module, path: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = path.removesuffix(".py").split("/")[: -node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{each.name}" for each in node.names)


@pytest.fixture
def one_page(monkeypatch: pytest.MonkeyPatch) -> list[SiteFile]:
    files = [SiteFile("a.html", b"a"), SiteFile("models/b.html", b"b")]
    monkeypatch.setattr(site_builder, "PARTS", (lambda options: iter(files),))
    return files


def test_a_site_replaces_an_earlier_one_and_nothing_else(tmp_path: Path, one_page: list[SiteFile]) -> None:
    place = tmp_path / "site"
    list(site_builder.write_site(str(place), SiteOptions()))
    assert (place / "models" / "b.html").read_bytes() == b"b"
    one_page.pop()
    list(site_builder.write_site(str(place), SiteOptions()))
    assert not (place / "models").exists()
    assert (place / "a.html").is_file()
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("x")
    with pytest.raises(SiteError, match="did not write"):
        list(site_builder.write_site(str(other), SiteOptions()))
    with pytest.raises(SiteError, match="is a file"):
        site_builder.check_site_folder(str(other / "thesis.txt"))
    with pytest.raises(SymformerError, match="does not exist"):
        site_builder.check_site_folder(str(tmp_path / "none" / "site"))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (["--base-url", "a.org"], "--base-url is 'a.org'; give the address of a site"),
        (["--base-url", "http://["], "--base-url is 'http://['"),
        (["--base-url", "https://a.org/?b"], "--base-url is 'https://a.org/?b'"),
        (["--endpoint", "http://["], "the endpoint 'http://[' is not of the form https://HOST"),
        (["--only", "none-such"], "unknown model 'none-such'"),
        (["--wheels", "."], ". has no wheels (.whl)"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    wrong: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["site", "-o", "made", "--only", "gpt2", *wrong])
    assert result.exit_code == 2
    assert reason in result.stderr
    assert not (tmp_path / "made").exists()


def test_the_address_of_a_site_ends_in_a_slash() -> None:
    assert checked_address("https://a.org/b", "--base-url") == checked_address("https://a.org/b/", "--base-url")


def test_the_server_is_bound_to_the_loopback_address(tmp_path: Path) -> None:
    (tmp_path / "a.mjs").write_text("1")
    server = site_server(str(tmp_path), 0)
    try:
        Thread(target=server.serve_forever, daemon=True).start()  # shutdown() waits for it
        host, port = server.server_address[:2]
        assert host == "127.0.0.1"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/a.mjs") as response:
            assert response.headers["Content-Type"] == "text/javascript"
        with pytest.raises(SiteError, match="cannot be served"):
            site_server(str(tmp_path), int(port))
    finally:
        server.shutdown()
        server.server_close()


def test_an_internal_error_is_reported_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(asked: object) -> dict:
        raise KeyError("x")

    monkeypatch.setattr(browser_answers, "VIEWS", {"formula": broken})
    assert "a bug in symformer" in ask(view="formula", target="gpt2")["error"]
