"""The variables that tell an agent who it is."""

from pathlib import Path

import pytest

from sm.adapters import agents
from sm.settings.variables import SESSION_ID, SESSION_TOKEN

FOLDER = Path(agents.__file__).parent


@pytest.mark.parametrize(
    ("script", "variables"),
    [("stub.py", (SESSION_ID, SESSION_TOKEN)), ("statusline.py", (SESSION_ID,))],
)
def test_scripts_that_import_nothing_of_ours_read_the_same(
    script: str, variables: tuple[str, ...]
) -> None:
    """They run without our folder on the path, so the names stand there once more."""
    text = (FOLDER / script).read_text()

    assert all(f'b"{variable}"' in text for variable in variables)
