"""Which channel a folder belongs to, and the folders registered in our own config.toml.

Works on files alone, without a daemon. The configuration is a person's text: one line is put in or
taken out, and what comes of it is read and checked before it takes the file's place.
"""

import codecs
import contextlib
import fcntl
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from sm.adapters.channels.errors import LedgerError
from sm.adapters.channels.finding import find_place, remembered_names
from sm.core.channel import Channel, ChannelError, checked_name, default_name
from sm.install import files
from sm.install.files import InstallError, shown
from sm.install.tables import TableError, with_entry, without_entry
from sm.settings.config import ConfigError, Settings, expanded, load, parse, registry
from sm.settings.home import Home

TABLE = "channels"


def find(home: Home, directory: Path) -> Channel:
    """Where a directory belongs now; nothing is remembered."""
    try:
        registered = registry(load(home.config))
        place = find_place(directory, registered)
        if place.registered is not None:
            return Channel(name=place.registered, root=place.root, why=place.why)
        names = remembered_names(home.channels)
    except (ConfigError, LedgerError) as error:
        raise InstallError(str(error)) from None
    name = default_name(place.root, names, set(registered.values()))
    return Channel(name=name, root=place.root, why=place.why)


def checked(name: str) -> str:
    """The name, if it can be a channel's."""
    try:
        return checked_name(name)
    except ChannelError as error:
        raise InstallError(str(error)) from None


def add(home: Home, directory: Path, name: str) -> bool:
    """Register a directory; False if it already is, under this very name."""
    checked(name)
    with _alone(home.config):
        before = files.read(home.config)
        settings, text = _read(before)
        known = [settings.channels[key] for key in _keys(settings, directory)]
        if known:
            if known == [name] * len(known):
                return False
            raise InstallError(
                f"{shown(directory)} is already registered as {known[0]} in {home.config}. "
                f"Take it out first: sm channel remove {shlex.quote(shown(directory))}"
            )
        with _by_hand(home.config):
            _write(before, with_entry(text, TABLE, _written(directory), name))
    return True


def remove(home: Home, directory: Path) -> str:
    """Take a directory out of the registry; the name it had."""
    with _alone(home.config):
        before = files.read(home.config)
        settings, text = _read(before)
        keys = _keys(settings, directory)
        if not keys:
            raise InstallError(
                f"{shown(directory)} is not registered in {home.config}. "
                f"Where it belongs is told by: sm channel {shlex.quote(shown(directory))}"
            )
        with _by_hand(home.config):
            for key in keys:
                text = without_entry(text, TABLE, key)
            _write(before, text)
    return settings.channels[keys[0]]


def _read(before: files.Snapshot) -> tuple[Settings, str]:
    content = before.content or b""
    try:
        return parse(content, before.path), content.decode("utf-8-sig")
    except ConfigError as error:
        raise InstallError(f"{error} Nothing was changed.") from None


def _write(before: files.Snapshot, text: str) -> None:
    has_mark = (before.content or b"").startswith(codecs.BOM_UTF8)
    content = text.encode("utf-8-sig" if has_mark else "utf-8")
    try:
        parse(content, before.path)
    except ConfigError as error:
        raise InstallError(f"{error} Nothing was changed.") from None
    files.check_writable(before)
    files.write(before, content)


def _keys(settings: Settings, directory: Path) -> list[str]:
    """However it is spelt there."""
    real = os.path.realpath(directory)
    return [key for key in settings.channels if os.path.realpath(expanded(key)) == real]


def _written(directory: Path) -> str:
    """With the home as ``~``: configurations are carried from machine to machine."""
    path = os.path.abspath(directory)  # noqa: PTH100 - without ".." and without following links
    try:
        path.encode()
    except UnicodeEncodeError:
        raise InstallError(
            f"The name {path!a} is not UTF-8 and cannot stand in a configuration. Rename it."
        ) from None
    own = expanded("~")
    if own not in ("~", "/") and (path == own or path.startswith(f"{own}/")):
        return f"~{path[len(own) :]}"
    return path


@contextlib.contextmanager
def _by_hand(config: Path) -> Iterator[None]:
    try:
        yield
    except TableError:
        raise InstallError(
            f"[{TABLE}] in {config} is not written as lines such as "
            '"~/src/api" = "api". Change it by hand; nothing was changed.'
        ) from None


@contextlib.contextmanager
def _alone(config: Path) -> Iterator[None]:
    """Two that change the file take turns; its folder is the lock, so that none is left behind."""
    real = Path(os.path.realpath(config))
    files.refuse_dangling(config, real)
    folder = real.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InstallError(
            f"Cannot use {folder}: {error.strerror}. Make it writable; nothing was changed."
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
