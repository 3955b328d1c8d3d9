"""The report as JUnit XML, for the build servers that read nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from hettest.outcome import Outcome, Record
from hettest.report.content import ReportContent


def render(content: ReportContent) -> str:
    """Return the report's text: one suite, one test case for each item."""
    counts = content.counts
    suite = ElementTree.Element(
        "testsuite",
        name=f"hettest {content.backend} {','.join(content.devices)}",
        tests=str(len(content.records)),
        failures=str(counts[Outcome.FAILED]),
        errors=str(counts[Outcome.CRASHED]),
        skipped=str(len(content.records) - _ran(counts)),
        time=f"{content.seconds:.3f}",
    )
    for record in content.records:
        suite.append(_case(record))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _ran(counts: Mapping[Outcome, int]) -> int:
    return sum(counts[o] for o in (Outcome.PASSED, Outcome.FAILED, Outcome.CRASHED))


def _case(record: Record) -> ElementTree.Element:
    end = record.id.find("[", max(record.id.find("::"), 0))  # a folder may have brackets too
    base = record.id if end < 0 else record.id[:end]
    folder, _, name = base.rpartition("/")
    case = ElementTree.Element(
        "testcase",
        classname=folder.replace("/", ".") or "hettest",
        name=name + record.id[len(base) :],
        time=f"{record.seconds:.6f}",
    )
    if record.outcome is Outcome.PASSED:
        return case
    tags = {Outcome.FAILED: "failure", Outcome.CRASHED: "error"}
    tag = tags.get(record.outcome, "skipped")
    message = f"{record.outcome}: {record.reason}"
    ElementTree.SubElement(case, tag, message=message).text = record.text
    return case
