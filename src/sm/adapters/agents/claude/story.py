"""The story a transcript of Claude Code tells, read once from its beginning to its end.

Sub-agents keep records of their own and are told by what the main thread says of them. Thinking
belongs to the model and is never copied. Records may stand out of the order of time: where it
matters what came last, their times decide.
"""

from collections import deque
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from sm.adapters.agents.claude import calls, entries, said
from sm.adapters.agents.claude.calls import seconds
from sm.adapters.agents.claude.deeds import Deeds
from sm.adapters.agents.claude.entries import Answered, Block, Entry
from sm.core.decisions import stated
from sm.core.shortening import ends
from sm.core.story import AGENT, Decision, Request, Story, Summary, Utterance

LAST_RECORDS = 60
"""Of which the last exchanges are made."""
MOST_SAID = 200
"""What the agent said before the last exchanges: so often."""
_LARGEST_SHOWN = 300_000
"""Of a larger record in the last exchanges only its size is told."""


def read(path: Path) -> Story | None:
    """None if the file holds no record of a conversation. Raises OSError."""
    teller = _Teller()
    for line in entries.lines(path):
        teller.hear(line)
    return teller.told() if teller.heard else None


class _Teller:
    def __init__(self) -> None:
        self.heard = 0
        self._deeds = Deeds()
        self._last: deque[bytes] = deque(maxlen=LAST_RECORDS)
        self._requests: list[Request] = []
        self._queued: list[Request] = []
        self._decisions: dict[str, Decision] = {}
        self._said: deque[tuple[str, str]] = deque(maxlen=MOST_SAID)
        self._summaries: list[Summary] = []
        self._replies = 0
        self._compactions = 0
        self._context = self._cwd = self._branch = self._model = ""
        self._began = self._ended = ""
        self._words, self._words_at, self._active_at = "", "", ""
        self._steps = count()
        # Times of a record's steps; where they are the same, their order.
        self._spoke = self._acted = ("", 0)
        self._answered_at = ""

    def hear(self, line: bytes) -> None:
        record = entries.record(line)
        if isinstance(record, Answered):
            self.heard += 1
            self._last.append(line)
            self._deeds.answered(record.tool_use_id, record.timestamp, record.last_line)
            self._act(record.timestamp)
        elif record is not None and record.type and not record.is_sidechain:
            self._entry(record, line)

    def _entry(self, entry: Entry, line: bytes) -> None:
        match entry.type:
            case "assistant":
                self._replied(entry)
            case "user":
                self._given(entry)
            case "attachment":
                self._attached(entry)
            case "system":
                self._noticed(entry)
                return
            case "queue-operation":
                self._queue(entry)
                return
            case _:
                return
        self.heard += 1
        self._last.append(line)
        self._placed(entry)

    def _noticed(self, entry: Entry) -> None:
        if entry.subtype == "compact_boundary":
            self._compactions += 1
            self._said.clear()

    def _placed(self, entry: Entry) -> None:
        at = entry.timestamp
        self._context = entry.session_id or self._context
        self._branch = entry.git_branch or self._branch
        self._cwd = self._cwd or entry.cwd
        if at:
            self._began = min(self._began or at, at)
            self._ended = max(self._ended, at)

    def _replied(self, entry: Entry) -> None:
        message, at = entry.message, entry.timestamp
        if message is None:
            return
        blocks = _blocks(message.content)
        if entry.is_api_error_message:
            self._deeds.trouble(" ".join(block.text for block in blocks), at)
            return
        if message.model == "<synthetic>":
            return
        self._model = message.model or self._model
        self._active_at = max(self._active_at, at)
        for block in blocks:
            if block.type == "tool_use":
                self._deeds.called(block, at, entry.cwd or self._cwd)
                self._act(at)
            elif block.type == "text" and block.text.strip():
                self._spoken(block.text, at)

    def _spoken(self, text: str, at: str) -> None:
        self._replies += 1
        self._spoke = max(self._spoke, (at, next(self._steps)))
        if at >= self._words_at:
            self._words, self._words_at = text, at
        self._said.append((at, ends(text)))
        for sentence in stated(text):
            # Said again, it stands where it was said last.
            self._decisions.pop(sentence, None)
            self._decisions[sentence] = Decision(text=sentence, at=seconds(at))

    def _act(self, at: str) -> None:
        self._acted = max(self._acted, (at, next(self._steps)))

    def _rest(self) -> None:
        """A turn ends with words: whoever calls a tool goes on."""
        if self._spoke > self._acted:
            self._answered_at = self._spoke[0]

    def _given(self, entry: Entry) -> None:
        message, at = entry.message, entry.timestamp
        if message is None:
            return
        if entry.is_compact_summary:
            text = "\n".join(block.text for block in _blocks(message.content))
            self._summaries.append(Summary(text=text, at=seconds(at)))
            return
        results = [block for block in _blocks(message.content) if block.type == "tool_result"]
        for block in results:
            self._deeds.result(block, at, entry.tool_use_result)
            self._act(at)
        if not results:
            self._asked(entry)

    def _attached(self, entry: Entry) -> None:
        attached = entry.attachment
        if attached is None:
            return
        if attached.type == "task_reminder":
            self._deeds.reminded(attached.content)
        elif attached.type in ("queued_command", "hook_additional_context"):
            self._asked(entry)

    def _asked(self, entry: Entry) -> None:
        for task, call in said.ended_tasks(entry):
            self._deeds.ended(task, call)
        if said.is_interrupt(entry):
            self._deeds.trouble("The person interrupted the agent.", entry.timestamp)
        prompt = said.prompt(entry)
        if prompt is None or prompt.is_ours:
            return
        self._rest()
        request = Request(
            text=prompt.text,
            at=seconds(entry.timestamp),
            sender=prompt.sender,
            images=prompt.images,
        )
        self._requests.append(request)

    def _queue(self, entry: Entry) -> None:
        """What is typed into a running turn waits in the client for the next result."""
        if entry.operation == "enqueue":
            text = calls.plain(entry.content)
            if said.is_typed(text):
                self._queued.append(
                    Request(text=text, at=seconds(entry.timestamp), is_waiting=True)
                )
        else:
            # Taken out, by whatever way: what became of it is on record.
            self._queued = self._queued[1:]

    def _waiting(self, requests: list[Request]) -> list[Request]:
        """What stands in the queue still; older than the last request, it was lost long ago."""
        last = requests[-1].at if requests else 0.0
        return [queued for queued in self._queued if queued.at > last]

    def told(self) -> Story:
        self._rest()
        done = self._deeds
        advice = [Request(text=text, at=seconds(at)) for text, at in done.advice]
        requests = sorted([*self._requests, *advice], key=lambda request: request.at)
        requests += self._waiting(requests)
        decisions = [*self._decisions.values(), *done.decisions]
        active = seconds(self._active_at)
        is_answered = not requests or active >= requests[-1].at
        spoken = sorted((_spoken(line) for line in self._last), key=lambda pair: pair[0])
        since = spoken[0][0] if spoken else ""
        return Story(
            context=self._context,
            cwd=self._cwd,
            branch=self._branch,
            model=self._model,
            began_at=seconds(self._began),
            ended_at=seconds(self._ended),
            replies=self._replies,
            compactions=self._compactions,
            requests=tuple(requests),
            todos=done.todos,
            decisions=tuple(sorted(decisions, key=lambda decision: decision.at)),
            files=done.files,
            commands=done.commands,
            failures=done.failures,
            troubles=tuple(done.troubles.values()),
            unfinished=done.unfinished,
            last=tuple(utterance for _, utterances in spoken for utterance in utterances),
            earlier=tuple(text for at, text in self._said if at < since),
            last_words=self._words,
            is_answered=is_answered,
            answered_at=seconds(self._answered_at),
            is_at_rest=is_answered and self._spoke > self._acted,
            summaries=tuple(self._summaries),
        )


def _blocks(content: str | list[Block]) -> list[Block]:
    return [Block(type="text", text=content)] if isinstance(content, str) else content


def _spoken(line: bytes) -> tuple[str, list[Utterance]]:
    """When it was said, and what."""
    if len(line) > _LARGEST_SHOWN:
        record = entries.record(line)
        told = f"({len(line) // 1000} KB of output)"
        shown = Utterance(who="tool", text=told, is_output=True)
        return (record.timestamp if record else "", [shown])
    entry = entries.decoded(line)
    return (entry.timestamp, list(_of(entry))) if entry is not None else ("", [])


def _of(entry: Entry) -> Iterator[Utterance]:
    prompt = said.prompt(entry)
    if prompt is not None:
        picture = "\n(with a picture)" if prompt.images else ""
        yield Utterance(who=prompt.sender or "person", text=prompt.text + picture)
        return
    if entry.message is None or entry.is_compact_summary or entry.type == "attachment":
        return
    for block in _blocks(entry.message.content):
        if block.type == "tool_result":
            told = ends(calls.plain(block.content).strip("\n"))
            yield Utterance(who="tool", text=told, is_output=True)
        elif entry.type == "assistant" and block.type == "text":
            yield Utterance(who=AGENT, text=ends(block.text.strip("\n")))
        elif block.type == "tool_use":
            yield Utterance(who=AGENT, text=f"→ {calls.describe(block)}")
