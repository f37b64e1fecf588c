"""How words and numbers are set."""

from driftbandits.research.league.report.typesetting import columns, prose, sentences

NARROW = "\N{NO-BREAK SPACE}"


def written(*values: object) -> list[str]:
    (column,) = columns([{"title": value} for value in values])
    return list(column.cells)


def test_a_value_of_any_kind_is_written_for_a_reader() -> None:
    assert written(162_755, None, float("nan"), float("inf"), "two words") == ["162,755", "–", "–", "∞", "two words"]
    assert written(True, False) == ["yes", "no"]
    assert written("<b>", "`confidence`") == ["&lt;b&gt;", "<code>confidence</code>"]


def test_a_column_has_one_number_of_decimals() -> None:
    assert written(17_114.2, 178.31, -650.0) == ["17,114", "178", "−650"]
    assert written(19.7, 12.0, 0.0) == ["19.7", "12.0", "0.0"]
    assert written(0.25, 0.1234) == ["0.250", "0.123"]
    assert written(12.0, 3.0, 45) == ["12", "3", "45"]
    assert written(2.0833e-5, 0.5) == ["2.08e-05", "0.5"]


def test_numbers_stand_on_the_right() -> None:
    row = {"a": 1.5, "b": "44,702 to 45,322", "c": "1/48,000", "d": "SW-UCB#", "e": "3 runs", "f": None}
    assert [column.title for column in columns([row]) if column.kind == "number"] == ["a", "b", "c", "f"]


def test_what_belongs_together_stays_on_one_line() -> None:
    assert prose("(-3 to -2) ± 4, 95 %") == f"(−3{NARROW}to{NARROW}−2){NARROW}±{NARROW}4, 95{NARROW}%"
    assert prose("SW-UCB, 2024-01, go to bed") == "SW-UCB, 2024-01, go to bed"


def test_measurements_stand_one_to_a_line() -> None:
    lines = ["Exp3.S 1.5 (1 to 2);", "SW-UCB# 3.", "The rest; all of it."]
    assert [line.replace(NARROW, " ") for line in sentences(" ".join(lines))] == lines
