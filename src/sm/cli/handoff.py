"""Hand your own work over to a fresh context of yours, by a document you wrote.

Inside a session only, for yourself only. Returns at once; when your turn has ended, your context
is cleared and you go on from the document. Run it as the last thing in your turn.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import cast

from sm.api.client import RefusedError, segment
from sm.api.errors import NotInsideError
from sm.api.ids import new_handoff_id
from sm.api.types import HandoffView, NewHandoffBody
from sm.cli import done
from sm.cli.output import client, own_session, path_name, print_json, standard_input, tellable
from sm.settings.variables import SESSION_ID, SESSION_TOKEN

EXAMPLE = "sm handoff /tmp/handoff.md"
LARGEST = 10_000_000
"""More is read of nothing that may be a document."""
SCHEDULED = "Handoff scheduled — will execute after current turn completes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="the document you wrote; - for standard input"
    )
    parser.add_argument(
        "--template", action="store_true", help="print a good document's outline, and do nothing"
    )
    parser.add_argument(
        "--check", action="store_true", help="say what a successor would miss, and do nothing"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    if args.template:
        return _template()
    if args.file is None:
        sys.stderr.write("sm: name the document: sm handoff FILE (see sm handoff --template)\n")
        return 2
    if args.check:
        return _check(args.file, as_json=args.json)
    session, token = own_session(), os.environ.get(SESSION_TOKEN, "")
    if session is None or not token:
        name = SESSION_TOKEN if session else SESSION_ID
        raise NotInsideError(
            f"{name} is not set: sm handoff can only be called from within a session,"
            " by its own agent."
        )
    handoff = _request(session, token, args.file)
    done.note(f"handoff {handoff['id']} is scheduled.")
    if args.json:
        print_json(handoff)
    else:
        print(SCHEDULED)
        if taken := handoff["redacted"]:
            what = "1 secret was" if taken == 1 else f"{taken} secrets were"
            print(f"{what} taken out of the document; its next reader finds [redacted:KIND] there")
    return 0


def _request(session: str, token: str, given: str) -> HandoffView:
    body: NewHandoffBody = {"id": new_handoff_id(time.time()), "requester_session_id": session}
    if given == "-":
        body["text"] = _told()
        _refuse_nothing(body["text"])
    else:
        path = Path(path_name(given)).absolute()
        if not os.path.lexists(path):
            raise RefusedError(f"File not found: {path}. Write the document first.", 400)
        body["file_path"] = tellable(path, "Copy the document to another name.")
        if path.is_file():
            _refuse_nothing(_text(path))
    answer = client().call("POST", f"/sessions/{segment(session)}/handoff", body, token=token)
    return cast("HandoffView", answer)


def _refuse_nothing(text: str) -> None:
    """An outline that nobody filled in would be all the next context has."""
    from sm.api.document import says_nothing

    if text.strip() and says_nothing(text):
        raise RefusedError(
            "The document says nothing: only the outline is there. Fill it in first.", 400
        )


def _told() -> str:
    return standard_input("Name a file.", LARGEST)


def _text(path: Path) -> str:
    """As much of a file as any document may have."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1).decode(errors="replace")
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror}.", 400) from None


def _template() -> int:
    from sm.api.document import TEMPLATE

    sys.stdout.write(TEMPLATE)
    return 0


def _check(given: str, *, as_json: bool) -> int:
    from sm.api.document import check

    path = Path(path_name(given)).absolute()
    if given != "-" and path.exists() and not path.is_file():
        # A pipe would be waited for without end.
        raise RefusedError(f"{path} cannot be read: it is not a file.", 400)
    text = _told() if given == "-" else _text(path)
    folder = Path.cwd() if given == "-" else path.parent
    findings = check(text, lambda name: _is_there(folder, name))
    if as_json:
        print_json([{"level": f.level, "words": f.words} for f in findings])
    elif not findings:
        print("A successor would find everything it needs.")
    else:
        for finding in findings:
            print(f"{finding.level}: {finding.words}")
    return 1 if findings else 0


def _is_there(folder: Path, name: str) -> bool:
    """Beside the document, or where the agent works."""
    try:
        named = Path(name).expanduser()
        return (folder / named).exists() or named.exists()
    except (OSError, ValueError, RuntimeError):
        return False
