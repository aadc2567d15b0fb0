"""Files are read and written without loss, and all damage is reported."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from wanlab.errors import TopologyError, WanlabError
from wanlab.topology import Host, Topology, link, link_trace, load, loads, save, schedule, shapes

GOLDEN = Path(__file__).parent.parent / "golden" / "topologies"
DAMAGED = sorted(path for path in (GOLDEN / "damaged").iterdir() if path.suffix != ".txt")


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.name)
def test_every_problem_of_a_damaged_file_is_reported_with_its_place(path: Path) -> None:
    with pytest.raises(TopologyError) as caught:
        load(path)
    expected = path.with_name(f"{path.name}.error.txt").read_text()
    assert str(caught.value).replace(str(path), path.name) + "\n" == expected


@pytest.mark.parametrize("ending", [".mn", ".json", ".yaml", ".yml", ".MN"])
def test_the_extension_of_a_file_decides_its_format(tmp_path: Path, ending: str) -> None:
    topology = shapes.minimal()
    save(topology, tmp_path / f"a{ending}")
    read = load(tmp_path / f"a{ending}")
    assert [str(link) for link in read.links] == [str(link) for link in topology.links]
    assert read.source.file == str(tmp_path / f"a{ending}")


def test_an_unknown_extension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WanlabError) as caught:
        save(shapes.minimal(), tmp_path / "a.txt")
    assert (
        caught.value.hint == "its name must end in one of: .mn, .json, .yaml, .yml, .py, .svg, .pdf"
    )


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    endless = tmp_path / "endless.yaml"
    endless.symlink_to("/dev/zero")
    with pytest.raises(WanlabError, match="is larger than 64 MiB"):
        load(endless)


@pytest.mark.long
def test_a_topology_is_drawn_in_svg_and_pdf(tmp_path: Path) -> None:
    hosts = (Host("h1", x=10, y=20), Host("h2", x=300, y=20))
    frame = {"text": "a < b $x_2$ 実", "x": 0, "y": 0, "width": 200, "height": 90, "colour": "red"}
    topology = Topology(
        nodes=hosts,
        links=(link("h1", "h2", rate="5Mbps", a_to_b={"loss": "1%"}),),
        extra={"frames": [frame]},
    )
    for name in ("a.svg", "a.pdf", "b.pdf"):
        save(topology, tmp_path / name)
    svg = (tmp_path / "a.svg").read_text()
    root = ElementTree.fromstring(svg)
    kinds = [element.get("class") for element in root]
    assert kinds == [
        None,
        "frame",
        "frame-text",
        "line",
        *["small"] * 2,
        *["host", "text", "small"] * 2,
    ]
    assert "a &lt; b $x_2$ 実" in svg
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert pdf == (tmp_path / "b.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    # A point is 0.75 pixels: the nodes are 290 pixels apart, with a margin of 90 on both sides.
    assert re.search(rb"/MediaBox \[ ?0 0 360(\.0*)? 202\.5", pdf)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WanlabError) as caught:
        load(tmp_path / "none.mn")
    assert str(caught.value) == f"cannot read {tmp_path / 'none.mn'}: No such file or directory"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(WanlabError) as caught:
        save(shapes.minimal(), tmp_path / "none" / "a.mn")
    assert str(caught.value).startswith(f"cannot write {tmp_path / 'none' / 'a.mn'}: ")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.mn").write_bytes(b"\x7fELF\xff")
    with pytest.raises(TopologyError) as caught:
        load(tmp_path / "a.mn")
    assert [problem.place for problem in caught.value.problems] == ["byte 4"]


def test_a_topology_with_problems_is_not_written(tmp_path: Path) -> None:
    broken = Topology(nodes=(Host("h 1"),))
    for name in ("a.mn", "a.yaml"):
        with pytest.raises(TopologyError):
            save(broken, tmp_path / name)
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("ending", [".mn", ".yaml"])
def test_a_file_saved_over_another_replaces_it(tmp_path: Path, ending: str) -> None:
    save(shapes.tree(3, 3), tmp_path / f"a{ending}")
    save(shapes.minimal(), tmp_path / f"a{ending}")
    assert len(load(tmp_path / f"a{ending}").nodes) == 3


def test_a_file_that_many_links_name_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20,000 links with one trace of a million lines took hours."""
    (tmp_path / "a.trace").write_text("0\n1\n2\n")
    (tmp_path / "b.csv").write_text("at,rate\n1s,5Mbps\n")
    read = []

    def count(path: Path, *arguments: object, **options: int) -> bytes:
        read.append(path.name)
        return path.read_bytes()

    for module in (link_trace, schedule):
        monkeypatch.setattr(module, "read_input", count)
    links = "".join(
        f"  - {{link: [a, b], {words}}}\n"
        for words in ("trace: a.trace", "rate: 1Mbps, schedule: b.csv")
        for _ in range(50)
    )
    text = "nodes: [{host: a}, {host: b}]\nlinks:\n" + links
    first = loads(text, str(tmp_path / "t.yaml")).links
    assert sorted(read) == ["a.trace", "b.csv"]
    (tmp_path / "a.trace").write_text("0\n1\n3\n")
    second = loads(text, str(tmp_path / "t.yaml")).links
    traces = [link.a.conditions.trace for link in (first[0], second[0], second[49])]
    assert [trace and trace.at_ms for trace in traces] == [(0, 1, 2), (0, 1, 3), (0, 1, 3)]


def test_the_texts_of_files_that_many_routers_name_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wanlab.fields.MAX_CHARACTERS_OF_FILES", 2000)
    (tmp_path / "frr.conf").write_text("!\n" * 300)
    texts = [f"  - {{router: r{number}, frr_file: frr.conf}}\n" for number in range(4)]
    topology = loads("nodes:\n" + "".join(texts[:3]), str(tmp_path / "t.yaml"))
    assert len(topology.routers) == 3
    with pytest.raises(TopologyError, match="the files named here have more than 0 Mi characters"):
        loads("nodes:\n" + "".join(texts), str(tmp_path / "t.yaml"))
