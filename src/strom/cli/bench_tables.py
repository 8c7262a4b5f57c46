"""What a benchmark found, as tables for people."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from strom.bench.report import Report
    from strom.bench.sustained.measured import Measured
    from strom.bench.sustained.run import Run


def ratio_table(report: "Report") -> "Table":
    """Each figure beside what is asked of it."""
    table = _table(report.conditions, "", ">ratio", "asked", "against", "")
    for measure in report.measures:
        ratio = f"{'[green]' if measure.reached else '[red]'}{measure.ratio:.2f}[/]"
        table.add_row(measure.name, ratio, measure.asked, measure.against, measure.detail)
    return table


def runs_table(runs: "list[Run]") -> "Table":
    """The rates that were tried, in order."""
    table = _table("Tried", ">messages/s", ">measured", "")
    for run in runs:
        outcome = "[green]holds[/]" if run.held else f"[red]{run.why}[/]"
        table.add_row(f"{run.measured.rate:,}", f"{run.measured.seconds:.0f} s", outcome)
    return table


def processor_table(found: "Measured") -> "Table":
    """Processor time by part, the largest first, and below a JVM by kind of thread."""
    from strom.bench.sustained.measured import per_message

    table = _table("Processor time", "", ">µs a message", ">of one core")
    for part, used_us in sorted(per_message(found).items(), key=lambda row: -row[1]):
        table.add_row(part, f"{used_us:,.1f}", f"{used_us * found.sent / found.seconds / 1e4:.0f} %")
        for kind, used_s in found.used.threads.get(part, {}).items():
            share = f"{100 * used_s / found.seconds:.0f} %"
            table.add_row(f"  {kind}", f"{used_s / found.sent * 1e6:,.1f}", share, style="dim")
    return table


def _table(title: str, *columns: str) -> "Table":
    """A column whose name begins with > is one of numbers."""
    from rich.table import Table

    table = Table(title=title, box=None, padding=(0, 2, 0, 0), title_justify="left")
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left")
    return table
