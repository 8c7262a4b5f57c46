"""What the docs say must be so: every setting and verb is described, every named file exists, every link leads somewhere."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.main import get_command

from strom.cli import verbs
from strom.cli.main import app
from strom.domain.dialects import NAMES
from strom.domain.obis import REGISTERS
from strom.domain.reading import FLAGS, REASONS
from strom.settings import Settings, described
from strom.streams.topics import CONTRACT

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="ignore")


def settings_page() -> str:
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for each in described(Settings()):
        lines.append(
            f"| `{each.name}` | {'' if each.value is None else f'`{each.value}`'} | {each.meaning} |"
        )
    return "\n".join(lines)


def test_every_setting_is_in_the_docs_with_its_default() -> None:
    assert settings_page() in text_of(ROOT / "docs/settings.md"), (
        f"docs/settings.md must hold:\n{settings_page()}"
    )


def test_every_verb_has_a_help_text_and_is_named_in_the_docs() -> None:
    if not app.registered_commands:
        verbs.register(app)
    docs = "\n".join(map(text_of, PAGES))
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        assert command.help, name
        assert f"strom {name}" in docs, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text_of(page))
    missing = [each for each in targets if "://" not in each and not (page.parent / each).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_source_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`(src/strom/[\w./]+)`", text_of(page))
    assert not [each for each in named if not (ROOT / each).exists()]


def test_topics_flags_and_reasons_are_described() -> None:
    page = text_of(ROOT / "docs/architecture.md")
    words = [*(topic.name for topic in CONTRACT), *FLAGS, *REASONS]
    assert not [word for word in words if f"`{word}`" not in page]


def test_the_table_of_registers_is_complete() -> None:
    assert all(register.code and (register.field or not register.has_field) for register in REGISTERS)
    fields = [
        register.field for register in REGISTERS if register.has_field and register.field != "meter_number"
    ]
    assert len(fields) == len(set(fields))


def test_every_dialect_is_in_the_table_of_dialects() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \|", text_of(ROOT / "docs/dialects.md").split("## Rules")[0], re.MULTILINE
    )
    assert tuple(rows) == NAMES


@pytest.mark.parametrize(
    ("page", "heading"), [("CONTRIBUTING.md", "A new kind of meter"), ("docs/dialects.md", "A new dialect")]
)
def test_all_that_a_new_dialect_needs_is_told(page: str, heading: str) -> None:
    """A file that names every dialect needs a line for a new one, and every dialect has its samples."""
    sources = [path for path in sorted((ROOT / "src").rglob("*.py")) if _names_all(NAMES, text_of(path))]
    places = [str(path.relative_to(ROOT)) for path in sources]
    assert places == ["src/strom/devices/registry.py", "src/strom/domain/dialects.py"]
    told = text_of(ROOT / page).split(f"## {heading}\n")[1].split("\n## ")[0]
    for needed in (
        "`src/strom/devices/`",
        *places,
        "`tests/payloads/NAME/`",
        "README",
        "`expected.json`",
        "table",
    ):
        assert needed in told, needed


def _names_all(names: Iterable[str], text: str) -> bool:
    return all(re.search(rf"\b{name}\b", text) for name in names)


def test_every_module_begins_with_what_it_is_for() -> None:
    modules = [path for path in tracked_files() if path.suffix == ".py" and "src" in path.parts]
    assert modules
    assert not [path for path in modules if not text_of(path).startswith('"""')]


def test_no_file_names_the_host_of_a_package_registry() -> None:
    hosts = [
        "pypi" + ".org",
        "pythonhosted" + ".org",
        "registry.npmjs" + ".org",
        "maven" + ".org",
        "repo1" + ".maven",
    ]
    found = [str(path) for path in tracked_files() if any(host in text_of(path) for host in hosts)]
    assert not found


def test_locked_requirements_carry_hashes_and_no_addresses() -> None:
    locks = sorted((ROOT / "requirements").glob("*.txt"))
    assert locks
    for lock in locks:
        assert "--hash=sha256:" in text_of(lock)
        assert "http" + "://" not in text_of(lock)
        assert "https" + "://" not in text_of(lock)
