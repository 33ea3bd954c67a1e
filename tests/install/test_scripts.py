"""The scripts that agents call, without a daemon."""

from pathlib import Path

from sm.install import scripts
from sm.settings.home import Home


def test_missing_scripts_are_written(tmp_path: Path) -> None:
    """What is there afterwards can be run."""
    home = Home(tmp_path, tmp_path / "config.toml", tmp_path / "run", is_default=False)
    assert home.bin / "launch" in scripts.missing(home)

    scripts.write(home)

    assert scripts.missing(home) == []
