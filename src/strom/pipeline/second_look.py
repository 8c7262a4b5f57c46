"""The second look at a payload that the fixed schema cannot vouch for: is it JSON at all, and which registers does it hold that the schema does not name?"""

import secrets

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain import reading as rules
from strom.domain.obis import CODE_PATTERN, SPELLINGS
from strom.pipeline.judge import is_bad_other, matches, other_member, plausible, told_a_time, with_value
from strom.pipeline.message import ENTRY, FIELD_SPELLINGS, STRICT, entries, members_as_texts


def second_look(text: Column) -> Column:
    """`reason` if it is none of ours, else what it holds beside the registers with a field as members of `other`, whether something in it is `bad`, the latest time that can be true (`meter_ms`) and whether any was `told`.

    Spark's readers ignore what follows the first value. Put into an array before a word that no sender can guess, a
    payload is JSON exactly if that word is the second and last element.
    """
    word = secrets.token_hex(16)
    wrapped = F.concat(F.lit("["), text, F.lit(f',"{word}"]'))
    is_object = F.startswith(F.ltrim(text, F.lit(" \t\r\n")), F.lit("{"))

    def judged(elements: Column) -> Column:
        is_json = (F.size(elements) == 2) & (F.get(elements, F.lit(1)) == word) & F.is_valid_utf8(text)
        rewritten = F.get(elements, F.lit(0))
        return (
            F.when(~F.coalesce(is_json, F.lit(False)), _refused(rules.NOT_JSON))
            .when(~is_object, _refused(rules.NOT_AN_OBJECT))
            .otherwise(
                with_value(
                    _last_wins(F.from_json(text, "map<string,string>", STRICT)),
                    lambda texts: _members(texts, rewritten, _own_times(text)),
                )
            )
        )

    return with_value(F.from_json(wrapped, "array<string>", STRICT), judged)


def passed_on(word: str) -> Column:
    """In the place of a look, for what is not looked at."""
    return _refused(word)


def _last_wins(members: Column) -> Column:
    return F.map_from_entries(F.map_entries(members))


def _refused(reason: str) -> Column:
    return _result(reason=F.lit(reason))


def _result(
    reason: Column | None = None,
    bad: Column | None = None,
    other: Column | None = None,
    times: Column | None = None,
) -> Column:
    nothing = F.lit(None)
    return F.struct(
        (nothing if reason is None else reason).cast("string").alias("reason"),
        (F.lit(False) if bad is None else bad).alias("bad"),
        (F.lit("") if other is None else other).alias("other"),
        (nothing if times is None else F.array_max(F.transform(times, plausible)))
        .cast("bigint")
        .alias("meter_ms"),
        (F.lit(False) if times is None else F.exists(times, told_a_time)).alias("told"),
    )


def _members(texts: Column, rewritten: Column, own_times: Column) -> Column:
    known = F.exists(F.map_keys(texts), lambda key: key.isin(list(SPELLINGS)))
    unreadable = F.exists(
        F.map_entries(texts),
        lambda entry: (
            entry["key"].isin(list(FIELD_SPELLINGS))
            & entry["value"].isNotNull()
            & ~_is_object(entry, rewritten)
        ),
    )
    rest = F.transform(
        F.filter(F.map_entries(texts), lambda entry: _is_rest(entry, rewritten)),
        lambda entry: F.struct(
            entry["key"].alias("key"), F.from_json(entry["value"], ENTRY, STRICT).alias("entry")
        ),
    )
    return F.when(~F.coalesce(known, F.lit(False)), _refused(rules.NO_KNOWN_REGISTER)).otherwise(
        with_value(rest, lambda found: _found(found, F.coalesce(unreadable, F.lit(False)), own_times))
    )


def _own_times(text: Column) -> Column:
    """The times of the registers with a field."""
    return with_value(
        members_as_texts(text),
        lambda message: F.array(*(entry["time"] for entry in entries(message.getField).values())),
    )


def _found(rest: Column, unreadable: Column, own_times: Column) -> Column:
    members = F.transform(rest, lambda each: other_member(each["key"], each["entry"]["value"]))
    return _result(
        bad=unreadable | F.exists(rest, lambda each: is_bad_other(each["entry"]["value"])),
        other=F.array_join(F.filter(members, lambda member: member.isNotNull()), ","),
        times=F.concat(own_times, F.transform(rest, lambda each: each["entry"]["time"])),
    )


def _is_rest(entry: Column, rewritten: Column) -> Column:
    """Whether a member of the message is a register without a field of its own."""
    key = entry["key"]
    return (
        ~key.isin(list(FIELD_SPELLINGS))
        & matches(key, CODE_PATTERN)
        & F.coalesce(_is_object(entry, rewritten), F.lit(False))
    )


def _is_object(entry: Column, rewritten: Column) -> Column:
    """Whether a member, seen as text, is an object and not a string that looks like one: the rewritten message tells."""
    as_object = F.concat(F.lit('"'), entry["key"], F.lit('":{'))
    return F.startswith(entry["value"], F.lit("{")) & F.contains(rewritten, as_object)
