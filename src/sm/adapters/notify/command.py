"""Runs a command of the person's own for each notice: words without a shell, the text handed over.

The text is its last argument and its standard input. What it prints is nobody's; that it failed is
told in words.
"""

import asyncio
import contextlib
import os
import shlex
import signal
import tempfile

WITHIN = 10.0


async def run_command(command: str, text: str, *, within: float = WITHIN) -> str | None:
    """Why it did not do its part; None if it did."""
    with tempfile.TemporaryFile() as given:
        given.write(text.encode("utf-8", "replace") + b"\n")
        given.seek(0)
        nothing = asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *shlex.split(command), text,
                stdin=given, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            return f"it could not be started: {error}"
    try:
        async with asyncio.timeout(within):
            status = await process.wait()
    except TimeoutError:
        return f"it did not end within {within:g} s and was ended"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return None if status == 0 else f"it ended with exit code {status}"
