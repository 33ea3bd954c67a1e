"""Our hooks in an agent's settings: put in, brought up to date, taken out. Text in, text out.

A three-way merge. *Base* is what we wrote last time, *wanted* what we would write now, and the text
is what the person made of it: what they changed or removed by hand stays as they made it, and is
told. Ours is what calls one of our commands; nothing else is ever touched.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sm.install.jsonc import Document, Item, Node

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What we put under one event: one call, and for which tools it is made."""

    call: Fields
    matcher: str | None = None

    @property
    def condition(self) -> Fields:
        return {} if self.matcher is None else {"matcher": self.matcher}

    def rendered(self) -> dict[str, object]:
        return {**self.condition, "hooks": [dict(self.call)]}


Entries = Mapping[str, Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What we had to make for our entries, to be taken back with the last of them."""

    created: frozenset[str] = frozenset()
    """Places that were not there: ``/`` (the file was blank), ``/hooks``, ``/hooks/Stop``."""
    blank: Mapping[str, str] = field(default_factory=dict)
    """What stood between the brackets that were there and empty; for ``/``, in the file."""

    def joined(self, other: "Traces") -> "Traces":
        return Traces(created=self.created | other.created, blank={**self.blank, **other.blank})

    def with_created(self, *places: str) -> "Traces":
        return replace(self, created=self.created.union(places))

    def with_blank(self, place: str, was: str) -> "Traces":
        return replace(self, blank={**self.blank, place: was})


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    text: str
    traces: Traces
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Removed by hand since we wrote them: not put back."""
    kept: tuple[str, ...] = ()
    """Changed by hand since we wrote them: left as they are."""


class _Ours(NamedTuple):
    """Where one of our calls stands."""

    hooks: Item
    event: Item
    group: Item
    calls: Item
    call: Item


def merge(
    text: str,
    wanted: Entries,
    commands: Set[str],
    base: Entries,
    traces: Traces | None,
    *,
    others: Traces | None = None,
) -> Merged:
    """Bring our entries in a text to what is wanted, with the least possible change.

    ``others``: what another home's sm had to make, which is to go with the last of either.
    """
    found = present(text, commands)
    if not found:
        # Gone as a whole: another file was put in its place, nothing was picked out by hand.
        base, traces = {}, others or Traces()
    traces = _assumed(found) if traces is None else traces
    left_out = tuple(event for event in wanted if event in base and event not in found)
    merged = Merged(text=text, traces=traces, left_out=left_out)
    for event in found:
        if event in wanted:
            merged = _brought_up(merged, event, wanted[event], base.get(event), commands)
        elif not base or event in base:
            merged = _taken_out(merged, event, commands)
    missing = {e: wanted[e] for e in wanted if e not in found and e not in left_out}
    return _put_in(merged, missing) if missing else merged


def remove(text: str, commands: Set[str], traces: Traces | None) -> Merged:
    """Take out all our entries, and what was only there for their sake.

    Without traces, brackets that held nothing but ours go with them.
    """
    found = present(text, commands)
    merged = Merged(text=text, traces=_assumed(found) if traces is None else traces)
    for event in found:
        merged = _taken_out(merged, event, commands)
    return merged


def present(text: str, commands: Set[str]) -> tuple[str, ...]:
    """The events under which one of ours stands."""
    if _is_blank(text):
        return ()
    return tuple(dict.fromkeys(str(ours.event.key) for ours in _ours(Document(text), commands)))


def callers(text: str) -> tuple[str, ...]:
    """Every command that any hook calls, ours and others'."""
    hooks = None if _is_blank(text) else _hooks(Document(text))
    return tuple(
        str(command.node.scalar)
        for event in (hooks.node.items if hooks else ())
        for group in event.node.items
        if (calls := group.node.last("hooks")) is not None
        for call in calls.node.items
        if (command := call.node.last("command")) is not None
    )


def _assumed(found: Iterable[str]) -> Traces:
    return Traces().with_created("/hooks", *map(_place, found))


def _is_blank(text: str) -> bool:
    return not text.removeprefix("\ufeff").strip(" \t\r\n")


def _place(event: str) -> str:
    return f"/hooks/{event}"


def _ours(document: Document, commands: Set[str]) -> list[_Ours]:
    hooks = _hooks(document)
    if hooks is None:
        return []
    return [
        _Ours(hooks, event, group, calls, call)
        for event in hooks.node.items
        if hooks.node.last(str(event.key)) is event
        for group in event.node.items
        if (calls := group.node.last("hooks")) is not None
        for call in calls.node.items
        if (command := call.node.last("command")) is not None
        and command.node.kind == "scalar"
        and command.node.scalar in commands
    ]


def _first(document: Document, event: str, commands: Set[str]) -> _Ours:
    return next(ours for ours in _ours(document, commands) if ours.event.key == event)


def _hooks(document: Document) -> Item | None:
    """The member that holds the hooks; refuses a shape that no agent could read."""
    if document.root.kind != "object":
        raise document.error("the settings must be an object: {…}", document.root.start)
    hooks = document.root.last("hooks")
    if hooks is not None and hooks.node.kind != "object":
        raise document.error('"hooks" must be an object: {…}', hooks.node.start)
    for event in hooks.node.items if hooks is not None else ():
        if event.node.kind != "array":
            words = f'"{event.key}" in "hooks" must be a list: […]'
            raise document.error(words, event.node.start)
    return hooks


# --- putting in --------------------------------------------------------------------------------


def _put_in(merged: Merged, missing: Entries) -> Merged:
    text, traces = merged.text, merged.traces
    if _is_blank(text):
        traces = traces.with_created("/").with_blank("/", text)
        text = ("\ufeff" if text.startswith("\ufeff") else "") + "{}\n"
    document = Document(text)
    if _hooks(document) is None:
        traces = _noted(traces, document, "/", document.root)
        traces = traces.with_created("/hooks", *map(_place, missing))
        value = {event: [entry.rendered()] for event, entry in missing.items()}
        text = document.with_item(document.root, "hooks", value)
    else:
        for event, entry in missing.items():
            text, traces = _with_entry(text, traces, event, entry)
    return replace(merged, text=text, traces=traces, added=tuple(missing))


def _with_entry(text: str, traces: Traces, event: str, entry: Entry) -> tuple[str, Traces]:
    document = Document(text)
    hooks = _hooks(document)
    assert hooks is not None
    there = hooks.node.last(event)
    if there is not None:
        traces = _noted(traces, document, _place(event), there.node)
        return document.with_item(there.node, None, entry.rendered()), traces
    traces = _noted(traces, document, "/hooks", hooks.node).with_created(_place(event))
    return document.with_item(hooks.node, event, [entry.rendered()]), traces


def _noted(traces: Traces, document: Document, place: str, container: Node) -> Traces:
    """Remember what an empty container looked like, unless we made it."""
    if container.items or place in traces.created:
        return traces
    return traces.with_blank(place, document.inner(container))


# --- bringing up to date -----------------------------------------------------------------------


def _brought_up(
    merged: Merged, event: str, want: Entry, base: Entry | None, commands: Set[str]
) -> Merged:
    ours = _first(Document(merged.text), event, commands)
    call = _settled(_fields(ours.call.node), want.call, base.call if base else None)
    theirs = {k: v for k, v in _fields(ours.group.node).items() if k == "matcher"}
    condition = _settled(theirs, want.condition, base.condition if base else None)
    if len(ours.calls.node.items) > 1:
        condition = theirs  # it holds for somebody's own hook as well: not ours to change
    names = dict.fromkeys([*_fields(ours.call.node), *call])
    text = _with_fields(merged.text, names, call, lambda d: _first(d, event, commands).call.node)
    text = _with_fields(
        text, ["matcher"], condition, lambda d: _first(d, event, commands).group.node
    )
    kept = () if (call, condition) == (want.call, want.condition) else (event,)
    updated = () if text == merged.text else (event,)
    return replace(merged, text=text, kept=merged.kept + kept, updated=merged.updated + updated)


def _fields(node: Node) -> dict[str, object]:
    return {str(item.key): item.node.value() for item in node.items}


def _settled(theirs: Fields, want: Fields, base: Fields | None) -> Fields:
    """Field by field: what they changed, added or removed stays so; what they left follows us."""
    names = dict.fromkeys([*theirs, *want])
    if base is None:
        return {name: want.get(name, theirs.get(name)) for name in names}
    ours = {n: want if theirs.get(n) == base.get(n) else theirs for n in names}
    ours |= {n: want for n in ("type", "command") if n in want}
    return {name: ours[name][name] for name in names if name in ours[name]}


def _with_fields(
    text: str, names: Iterable[str], fields: Fields, find: Callable[[Document], Node]
) -> str:
    """Make an object's fields of these names so, and leave its others."""
    for name in names:
        document = Document(text)
        node = find(document)
        there = node.last(name)
        if there is None:
            text = document.with_item(node, name, fields[name]) if name in fields else text
        elif name not in fields:
            text = document.without_item(node, there)
        elif there.node.value() != fields[name]:
            text = document.with_value(there.node, fields[name])
    return text


# --- taking out --------------------------------------------------------------------------------


def _taken_out(merged: Merged, event: str, commands: Set[str]) -> Merged:
    text = merged.text
    while not _is_blank(text):
        document = Document(text)
        ours = next((o for o in _ours(document, commands) if o.event.key == event), None)
        if ours is None:
            break
        text = _without(document, ours, merged.traces)
    return replace(merged, text=text, removed=(*merged.removed, event))


def _without(document: Document, ours: _Ours, traces: Traces) -> str:
    """The innermost thing that holds only ours and that we made, taken out."""
    steps = (
        ("", ours.calls.node, ours.call),
        ("", ours.event.node, ours.group),
        (_place(str(ours.event.key)), ours.hooks.node, ours.event),
        ("/hooks", document.root, ours.hooks),
    )
    container, item = steps[0][1:]
    for place, outer, holder in steps[1:]:
        if len(container.items) > 1:
            return document.without_item(container, item)
        if place and place not in traces.created:
            return _emptied(document, container, item, traces.blank.get(place, ""))
        container, item = outer, holder
    if len(container.items) > 1:
        return document.without_item(container, item)
    if "/" not in traces.created:
        return _emptied(document, container, item, traces.blank.get("/", ""))
    left = _emptied(document, container, item, "")
    return traces.blank["/"] if left.removeprefix("\ufeff").strip() == "{}" else left


def _emptied(document: Document, container: Node, item: Item, was: str) -> str:
    """The container without its only item, with the space it had before."""
    text = document.without_item(container, item)
    start = container.start + 1
    end = len(text) - (len(document.text) - container.end) - 1
    inner = text[start:end]
    if inner.split() == was.split():
        inner = was
    return text[:start] + inner + text[end:]
