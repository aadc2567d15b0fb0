"""The generator draws from the requested distribution, and repeatably for each seed."""

import math
from _random import Random
from pathlib import Path

import pytest

from wanlab.generator.arguments import UsageError, parse_arguments, rate, size, time
from wanlab.generator.sizes import arrivals, parse_sizes


@pytest.mark.parametrize(
    ("words", "mean_bytes"),
    [
        ("10KB", 10_000),
        ("exponential:20KB", 20_000),
        ("pareto:1.2,1KB,1MB", 1000**1.2 * (1000**-0.2 - 1e6**-0.2) * 6 / (1 - 1e-3**1.2)),
        ("pareto:1,1KB,1MB", 1000 / (1 - 1e-3) * math.log(1000)),
    ],
)
def test_the_mean_of_the_draws_is_the_mean_of_the_distribution(
    words: str, mean_bytes: float
) -> None:
    sizes, numbers = parse_sizes(words), Random(7)
    assert sizes.mean_bytes == pytest.approx(mean_bytes)
    drawn = [sizes.draw(numbers) for _ in range(200_000)]
    assert sum(drawn) / len(drawn) == pytest.approx(sizes.mean_bytes, rel=0.02)
    assert [sizes.draw(Random(7))] == drawn[:1]


def test_a_bounded_pareto_keeps_its_bounds() -> None:
    sizes, numbers = parse_sizes("pareto:0.5,1KB,64KB"), Random(1)
    drawn = [sizes.draw(numbers) for _ in range(20_000)]
    assert (min(drawn), max(drawn) <= 64_000, max(drawn) > 60_000) == (1000, True, True)


def test_an_empirical_distribution_is_linear_between_its_points(tmp_path: Path) -> None:
    path = tmp_path / "sizes.txt"
    path.write_text("# size, probability\n1KB 0\n2KB 50\n\n4000 1 100\n")
    sizes, numbers = parse_sizes(str(path)), Random(3)
    assert sizes.mean_bytes == 0.5 * 1500 + 0.5 * 3000
    drawn = sorted(sizes.draw(numbers) for _ in range(20_000))
    assert drawn[10_000] == pytest.approx(2000, rel=0.02)
    assert drawn[15_000] == pytest.approx(3000, rel=0.02)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1KB 0\nx 1\n", 'line 2: "x 1" is not a size'),
        ("2KB 0.5\n1KB 1\n", "line 2"),
        ("1KB 0.5\n", "the last probability must be 1 (or 100), not 0.5"),
        ("", "the last probability must be 1 (or 100), not 0"),
        ("0 1\n", "all sizes are 0"),
    ],
)
def test_a_wrong_line_of_a_distribution_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "sizes.txt"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        parse_sizes(str(path))
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_arrivals_have_the_requested_rate() -> None:
    found = arrivals(Random(1), 1000, 50_000_000_000)
    assert len(found) == pytest.approx(50_000, rel=0.02)
    assert found == sorted(found) == arrivals(Random(1), 1000, 50_000_000_000)


def test_quantities_are_written_as_elsewhere_in_wanlab() -> None:
    assert (rate("1.5Mbps"), time("2.5ms"), size("64KiB")) == (1_500_000, 2_500_000, 65_536)


@pytest.mark.parametrize("words", [["--time"], ["--time", "10"], ["--nope", "1"], ["--time=x"]])
def test_an_option_without_a_proper_value_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_arguments(words, {"time": time}, set())
