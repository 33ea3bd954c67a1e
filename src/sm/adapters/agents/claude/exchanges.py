"""The newest exchanges of Claude Code's transcript, read from its end.

As many as fill the room asked for; what is older is not looked at, however long the transcript is.
Texts are whole, so that nothing is cut in two before secrets are taken out of it. Sub-agents and
thinking are no part of it.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from sm.adapters.agents.claude import calls, entries, said
from sm.adapters.agents.claude.calls import Call, seconds
from sm.adapters.agents.claude.entries import Answered, Block, Entry
from sm.adapters.agents.claude.records import lines_backwards
from sm.core.exchange import SM, Exchange, Result, Role

OUTPUTS = 12
"""So many of the last results are read with what was printed."""
LARGEST = 300_000
"""Of a larger record only its size is told."""


def read(path: Path, room: int) -> tuple[Exchange, ...]:
    """About so many characters of what was asked, said and called, oldest first."""
    reading = _Reading()
    for line in lines_backwards(path):
        reading.take(line)
        if reading.size >= room:
            break
    return reading.taken()


@dataclass(slots=True)
class _Reading:
    size: int = 0
    _exchanges: list[Exchange] = field(default_factory=list)
    """Newest first."""
    _places: dict[str, int] = field(default_factory=dict)
    """Of each call among them."""
    _results: dict[str, Result] = field(default_factory=dict)

    def take(self, line: bytes) -> None:
        if len(self._results) < OUTPUTS and len(line) <= LARGEST:
            record: entries.Record | None = entries.decoded(line)
        else:
            record = entries.record(line)
        if isinstance(record, Answered):
            shown = f"({len(line) // 1000} KB of output)" if len(line) > LARGEST else ""
            self._results[record.tool_use_id] = Result(output=shown)
        elif record is not None and record.type and not record.is_sidechain:
            self._entry(record)

    def _entry(self, entry: Entry) -> None:
        if (asked := _asked(entry)) is not None:
            self._add(asked)
        elif entry.message is None:
            return
        elif entry.is_compact_summary:
            text = "\n".join(block.text for block in _blocks(entry))
            self._add(Exchange(role=Role.SUMMED, text=text, at=seconds(entry.timestamp)))
        elif entry.type == "assistant":
            self._replied(entry)
        elif entry.type == "user":
            self._given(entry)

    def _replied(self, entry: Entry) -> None:
        message, at = entry.message, seconds(entry.timestamp)
        if entry.is_api_error_message:
            text = " ".join(block.text for block in _blocks(entry))
            self._add(Exchange(role=Role.NOTED, text=text, at=at))
        elif message is not None and message.model != "<synthetic>":
            for block in reversed(_blocks(entry)):
                if block.type == "tool_use":
                    self._places[block.id] = len(self._exchanges)
                    self._add(_called(block, at))
                elif block.type == "text" and block.text.strip():
                    self._add(Exchange(role=Role.SAID, text=block.text, at=at))

    def _given(self, entry: Entry) -> None:
        if said.is_interrupt(entry):
            text = "The person interrupted the agent."
            self._add(Exchange(role=Role.NOTED, text=text, at=seconds(entry.timestamp)))
        for block in _blocks(entry):
            if block.type == "tool_result":
                output = calls.plain(block.content) if len(self._results) < OUTPUTS else ""
                failed = bool(block.is_error)
                self._results[block.tool_use_id] = Result(is_failed=failed, output=output)

    def _add(self, exchange: Exchange) -> None:
        self.size += len(exchange.text)
        self._exchanges.append(exchange)

    def taken(self) -> tuple[Exchange, ...]:
        """In the order of time: a reply may stand before what it answers."""
        for call, place in self._places.items():
            if (result := self._results.get(call)) is not None:
                self._exchanges[place] = replace(self._exchanges[place], result=result)
        ordered = self._exchanges[::-1]
        ordered.sort(key=lambda exchange: exchange.at)
        return tuple(ordered)


def _blocks(entry: Entry) -> list[Block]:
    content = entry.message.content if entry.message is not None else ""
    return [Block(type="text", text=content)] if isinstance(content, str) else content


def _called(block: Block, at: float) -> Exchange:
    call = Call(block.name, calls.asked(block.input), "", "")
    return Exchange(
        role=Role.CALLED,
        text=call.target,
        at=at,
        tool=block.name,
        deed=call.deed,
        call=block.id,
    )


def _asked(entry: Entry) -> Exchange | None:
    prompt = said.prompt(entry)
    if prompt is None:
        return None
    picture = "\n(with a picture that is not kept)" if prompt.images else ""
    return Exchange(
        role=Role.ASKED,
        text=prompt.text + picture,
        at=seconds(entry.timestamp),
        sender=SM if prompt.is_ours else prompt.sender,
    )
