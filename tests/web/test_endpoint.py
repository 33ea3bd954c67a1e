"""One declaration decodes, encodes and refuses alike for every endpoint."""

from tests.web.conftest import Web


def test_a_body_that_is_no_json_is_refused_with_the_reason(web: Web) -> None:
    """What and where."""
    answer = web.call("PATCH", f"/sessions/{web.ada}", b"{")

    assert answer.status == 400
    assert answer.error.startswith("The body is not valid JSON: ")


def test_a_body_that_does_not_fit_is_refused_with_the_key(web: Web) -> None:
    """The key that is wrong is named."""
    answer = web.call("PATCH", f"/sessions/{web.ada}", {"name": 7})

    assert (answer.status, answer.error) == (
        400, "The body does not fit: Expected `str`, got `int` - at `$.name`.",
    )  # fmt: skip


def test_a_missing_key_is_named(web: Web) -> None:
    """Nothing is guessed."""
    answer = web.call("POST", f"/sessions/{web.ada}/messages", {})

    assert (answer.status, answer.error) == (
        400, "The body does not fit: Object missing required field `text`.",
    )  # fmt: skip


def test_a_body_that_is_too_large_is_refused_before_it_is_read(web: Web) -> None:
    """The length alone is enough."""
    answer = web.call(
        "PATCH", f"/sessions/{web.ada}", b"", headers={"Content-Length": "99999999999"}
    )

    assert (answer.status, answer.error) == (400, "The body must be at most 67108864 bytes.")


def test_a_parameter_that_does_not_fit_is_named(web: Web) -> None:
    """A word where a number is meant."""
    answer = web.call("GET", "/messages?limit=many")

    assert answer.status == 400
    assert answer.error.startswith("The parameter limit does not fit: ")


def test_a_number_the_store_cannot_hold_is_refused(web: Web) -> None:
    """Refused, not an error of ours."""
    for path in (
        f"/sessions/{web.ada}/timeline?after=99999999999999999999",
        f"/messages?limit=1{'0' * 5000}",
    ):
        answer = web.call("GET", path)

        assert answer.status == 400
        assert "does not fit" in answer.error


def test_the_last_of_a_repeated_parameter_counts(web: Web) -> None:
    """As browsers' own libraries do."""
    assert len(web.get("/sessions?all=false&all=true")) > len(web.get("/sessions?all=false"))
