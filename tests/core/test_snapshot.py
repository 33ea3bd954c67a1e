"""Which snapshots of a session are kept."""

from sm.core.snapshot import LARGEST, MOST, surplus


def names(*sizes: int) -> list[str]:
    return list(surplus((str(number), size) for number, size in enumerate(sizes)))


def test_few_and_small_snapshots_all_stay() -> None:
    assert names() == names(LARGEST) == names(*[10] * MOST) == []


def test_of_many_the_oldest_go() -> None:
    assert names(*[10] * (MOST + 2)) == [str(MOST), str(MOST + 1)]


def test_all_together_have_a_largest_size() -> None:
    """What is behind the one that is too much goes with it: no gaps in the past."""
    assert names(LARGEST - 10, 10, 1, 1) == ["2", "3"]


def test_the_newest_stays_however_large_it_is() -> None:
    """It is what a session is brought back with."""
    assert names(2 * LARGEST, 1) == ["1"]
