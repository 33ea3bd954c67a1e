"""Log, screen and modes of one launch, kept together."""

from pathlib import Path

import pytest

from sm.adapters.pty.recording import Recording

pytestmark = pytest.mark.anyio


def recording(folder: Path) -> Recording:
    return Recording(str(folder / "raw.log"), str(folder / "sizes.jsonl"), (20, 3))


async def test_the_screen_shows_what_the_log_holds(tmp_path: Path) -> None:
    kept = recording(tmp_path)
    kept.append(b"hello")

    assert (await kept.screen()).lines == ("hello", "", "")
    kept.close()


async def test_only_another_size_is_noted(tmp_path: Path) -> None:
    kept = recording(tmp_path)

    assert [kept.resize((20, 3)), kept.resize((30, 4)), kept.resize((30, 4))] == [
        False, True, False,
    ]  # fmt: skip
    assert len(kept.log.sizes.read_text().splitlines()) == 2
    assert (await kept.screen()).size == (30, 4)
    kept.close()


async def test_what_tidies_up_is_in_the_log_too(tmp_path: Path) -> None:
    """Else whatever comes later would be drawn onto a screen that was left."""
    kept = recording(tmp_path)
    kept.append(b"before\x1b[?1049hafter")

    assert kept.tidy() == b"\x1b[?1049l"
    assert kept.tidy() == b""
    assert (await kept.screen()).lines[0] == "before"
    kept.close()
