"""What people enter about meters, typed or as a table."""

import pytest

from strom.domain.master_data import Entry, WrongEntry, entry, read_csv


def test_blanks_around_do_not_count_and_blanks_alone_take_away() -> None:
    assert entry(" haus-1 ", {"area": " Nord ", "tariff": "  "}) == Entry(
        "haus-1", {"area": "Nord", "tariff": None}
    )


@pytest.mark.parametrize(
    ("meter", "values", "why"),
    [
        ("", {}, "the name of the meter is empty"),
        ("a", {"area": "N\x1b[31m"}, "the area has characters that cannot be shown"),
        ("a", {"tariff": "x" * 201}, "the tariff has 201 characters; 200 are the most"),
    ],
)
def test_what_cannot_be_entered_is_told(meter: str, values: dict[str, str], why: str) -> None:
    with pytest.raises(WrongEntry) as wrong:
        entry(meter, values)
    assert str(wrong.value) == why


@pytest.mark.parametrize(
    "text",
    [
        "meter,area\nhaus-1,Nord\nhaus-2,\n",
        "\ufeffMeter;Area\r\nhaus-1;Nord\r\n\r\nhaus-2;\r\n",
        'meter,area,meter_number,first_seen\nhaus-1,"Nord",7,x\nhaus-2,,8,\n',
    ],
)
def test_a_table_with_comma_or_semicolon_sets_the_columns_it_has(text: str) -> None:
    assert read_csv(text) == [Entry("haus-1", {"area": "Nord"}), Entry("haus-2", {"area": None})]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the first line does not name a column meter"),
        ("area\nNord\n", "the first line does not name a column meter"),
        ("meter\nhaus-1\n", "the first line names none of area, tariff, contract"),
        ("meter,region\nhaus-1,x\n", "the first line names 'region', which is no column"),
        ("meter,area,area\na,b,c\n", "the first line names a column twice"),
        ("meter,area\na,b\na,c\n", "line 3: a stands in the table twice"),
        ("meter,area\na,b,c\n", "line 2 has 3 columns, the first line has 2"),
        ("meter,area\n,b\n", "line 2: the name of the meter is empty"),
        ('meter,area\na,"b" c\n', "line 2: "),
    ],
)
def test_a_wrong_table_is_told_by_its_line(text: str, why: str) -> None:
    with pytest.raises(WrongEntry) as wrong:
        read_csv(text)
    assert str(wrong.value).startswith(why)
