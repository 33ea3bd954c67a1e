"""Passwords and nameless secrets, by the places people and programs put them."""

import re

from sm.redaction.rule import ASSIGN, FENCE, QUOTE, SPACE, Rule
from sm.redaction.values import (
    anything,
    cookies,
    credential,
    given,
    in_address,
    password,
    random,
    strong,
)

# Ends where JSON's string would: at a quote or a backslash, but for characters by number.
_END = r"\s\"'`\\<>"
_NUMBER = r"\\+u00(?:26|3[cdeCDE])"
_VALUE = rf"(?:[^{_END}]|{_NUMBER})"
_BARE = rf"(?:[^{_END},;(){{}}\[\]|]|{_NUMBER})"
_DATABASE = (
    r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|valkey|amqps?|mssql|sqlserver|oracle|clickhouse"
    r"|cockroachdb|cassandra|kafka|nats|ldaps?|snowflake|memcached)"
)
_USER_PART = r"[^\s/:@?#\"'`\\<>(){}\[\]]*"
_URL_PASSWORD = r"([^\s/@\"'`\\<>(){}\[\]]{4,})@[A-Za-z0-9_\[%-]"
_NAME_REST = r"[A-Za-z0-9_.-]*"
_PASSWORD_NAME = rf"(?:(?:password|passwd|passphrase|pwd|pass_?code){_NAME_REST}|[<_.-]pass)"
_KEY_OWNERS = ("api", "access", "auth", "private", "signing", "encryption", "master", "service",
               "account", "session")  # fmt: skip
_SECRET_NAME = rf"(?:secret|token|credential|[_-]key|(?:{'|'.join(_KEY_OWNERS)})key){_NAME_REST}"
# Names of things that are rolled like secrets and are none.
_PUBLIC = re.compile(
    rb"(?i)(?:page|next|request|lock|continuation|sync|idempotency|change|update)[_-]?token\W"
    rb"|(?:cache|partition|sort|primary|foreign|object|public|host|s3|row|site)[_-]?key\W"
    rb"|(?:key|token|secret|credential)s?[_-]?(?:id|ids|name|arn|hash|type|version|file|path|url)\W"
)
_TYPE = r"(?:[ \t]*:[ \t]*[A-Za-z.\[\] |&]+)?"
_EQUALS = r"[ \t]*(?:=>|:=|={1,3}|:)[ \t]*"
_QUOTED = (
    r"(?:\"((?:[^\s\"\\]|\\[\"\\/]|\\u[0-9a-fA-F]{4}){4,})\""
    rf"|{QUOTE}({_VALUE}{{4,}}){QUOTE})"
)


def _quoted(name: str) -> str:
    """A name, and its value in quotes, in an element or in a cell."""
    return (
        rf"(?i){name}(?:{QUOTE}?\]?{_TYPE}{_EQUALS}{_QUOTED}"
        rf"|(?:[ \t]+[a-z]+=\"[a-z0-9]*\")?>({_VALUE}{{4,}})</"
        rf"|[ \t]+{QUOTE}({_VALUE}{{4,}}){QUOTE}"
        rf"|{QUOTE}[ \t]+value={QUOTE}({_VALUE}{{4,}})"
        rf"|[ \t]+\|[ \t]+({_BARE}{{4,}}))"
    )


def _bare(name: str) -> str:
    """A value without quotes, whose name has none either: JSON stays JSON. A call is no value."""
    return (
        rf"(?im){name}{_TYPE}{_EQUALS}({_BARE}{{4,}})"
        rf"(?:$|[\s\"'`\\<>,;)}}|\]])"
    )


def _called(name: str) -> str:
    """``define('NAME', 'value')`` and its like."""
    call = r"(?:define|setenv|putenv|set|set_?property|set_?item|set_?env)"
    words = rf"[\"'][A-Za-z0-9_.-]*{name}[\"']"
    return rf"(?i){call}\([ \t]*{words}[ \t]*,[ \t]*(?:\"([^\"\\\n]{{4,}})\"|'([^'\\\n]{{4,}})')"


def _argument(name: str) -> str:
    """A value that only a space parts from its name, as options and shells have it."""
    before = rf"(?:--|{FENCE}setx?[ \t]+)[A-Za-z0-9_-]*"
    return rf"(?im){before}{name}[ \t]+{QUOTE}?({_BARE}{{8,}})"


URLS = (
    Rule(kind="database-url", literals=(b"://",), judge=in_address,
         pattern=rf"(?i){_DATABASE}(?:\+[a-z0-9_+]{{1,20}})?://{_USER_PART}:{_URL_PASSWORD}"),
    Rule(kind="url-password", literals=(b"://",), judge=in_address,
         pattern=rf"://{_USER_PART}:{_URL_PASSWORD}"),
    Rule(kind="database-url", literals=(b"password=", b"pwd="), judge=given,
         sign="(?i)(?:password|pwd)=",
         pattern=r"(?i)(?:user id|uid|user|dbname|host|server|database)=[^\n\r\"'\\]{1,200}?[;\s&?]"
         rf"(?:password|pwd)=([^{_END};&]{{4,}})"),
)  # fmt: skip

FILES = (
    Rule(kind="netrc-password", literals=(b"password",), judge=given,
         pattern=rf"(?im){FENCE}(?:login|account){SPACE}[^\s\"\\]+{SPACE}"
         rf"\+?[ \t]*password{SPACE}([^{_END}]{{4,}})"),
    Rule(kind="netrc-password", literals=(b":543", b":6432", b":6543"), judge=strong,
         pattern=r"[A-Za-z0-9*.-]:(?:543[0-9]|6432|6543):[A-Za-z0-9_*-]+:[A-Za-z0-9_.@-]+:"
         rf"([^{_END}:]{{6,}})"),
    Rule(kind="password-hash", literals=(b"$",), pattern=
         r"(\$2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{53}|\$[156]\$(?:rounds=[0-9]+\$)?[./A-Za-z0-9]{1,16}"
         r"\$[./A-Za-z0-9]{22,86}|\$argon2(?:id|i|d)\$v=[0-9]+\$m=[0-9]+,t=[0-9]+,p=[0-9]+"
         r"\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}|\$y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{1,86}"
         r"\$[./A-Za-z0-9]{43})"),
)  # fmt: skip

HEADERS = (
    Rule(kind="authorization-header", literals=(b"authorization",), judge=credential,
         pattern=rf"(?im)(?:{FENCE}|proxy-)authorization{ASSIGN}"
         r"(?:[a-z][a-z-]{2,11}[ \t]+)?([A-Za-z0-9._~+/=:@-]{8,})"),
    Rule(kind="authorization-header", literals=(b"-h ", b"--header"), judge=given,
         pattern=rf"(?im){FENCE}(?:-h|--header)[ \t=]+{QUOTE}"
         r"[a-z-]*(?:key|token|secret|auth)[a-z-]*:[ \t]*([A-Za-z0-9._~+/=@-]{8,})"),
    Rule(kind="authorization-header", literals=(b"bearer",), judge=random,
         pattern=r"(?i)bearer[ \t]+([A-Za-z0-9._~+/=-]{16,})"),
    Rule(kind="authorization-header", literals=(b"x-", b"-token"), judge=random,
         pattern=rf"(?i)(?:x-[a-z-]{{0,20}}(?:key|token|secret)|private-token){ASSIGN}"
         r"([A-Za-z0-9._~+/=-]{16,})"),
    Rule(kind="cookie", literals=(b"cookie", b"-b "), judge=cookies,
         pattern=rf"(?i)(?:cookie{ASSIGN}|\s-b[ \t]+{QUOTE}?)"
         rf"((?:[A-Za-z0-9_.-]+=[^;{_END}]*(?:;[ \t]?)?)+)"),
)  # fmt: skip

_LINE = r"[^\n\r;|\\]{0,160}?"
_ARGUMENT = rf"{QUOTE}?({_VALUE}{{4,}})"
_USER_OPTION = rf"{FENCE}(?:-u|--user|--proxy-user)[ \t=]+{QUOTE}?"
COMMANDS = (
    Rule(kind="command-password", literals=(b"-u ", b"--user", b"--proxy-user"), judge=given,
         pattern=rf"(?m){_USER_OPTION}\{{?[A-Za-z0-9_.@-]*\}}?{QUOTE}?:{QUOTE}?({_VALUE}{{4,}})"),
    # A key in the user's place, and no password.
    Rule(kind="command-password", literals=(b"-u ", b"--user"), judge=given,
         pattern=rf"(?m){_USER_OPTION}([^:{_END}]{{8,}}):{QUOTE}?(?:\s|$)"),
    Rule(kind="command-password", literals=(b"mysql", b"mariadb"), judge=given,
         sign="(?:mysql|mariadb)[a-z-]*\\s",
         pattern=rf"(?m){FENCE}(?:mysql|mariadb)[a-z-]{{0,12}}\s{_LINE}\s?-p{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"sshpass",), judge=given,
         pattern=rf"sshpass\s+-p\s*{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"login",), judge=given, sign="login\\s.*\\s-p",
         pattern=rf"(?m){FENCE}login\s{_LINE}\s?-p[ \t=]{{1,4}}{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"redis-cli",), judge=given, sign="redis-cli\\s",
         pattern=rf"redis-cli\s{_LINE}\s?-a[ \t]+{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"--pass", b"--pwd"), judge=given,
         pattern=rf"--(?:password|passwd|passphrase|pass|pwd)[ \t=]{{1,4}}{_ARGUMENT}"),
)  # fmt: skip

_SECRETS = (b"secret", b"token", b"credential", b"_key", b"-key",
            *(f"{owner}key".encode() for owner in _KEY_OWNERS))  # fmt: skip
_PASSWORDS = (b"passw", b"passp", b"passc", b"pass_c", b"_pass", b"-pass", b".pass", b"<pass",
              b"pwd")  # fmt: skip
_CALLS = (b"define(", b"env(", b"set(", b"property(", b"item(")
NAMES = (
    Rule(kind="password", literals=_PASSWORDS, judge=given, pattern=_quoted(_PASSWORD_NAME)),
    Rule(kind="password", literals=_PASSWORDS, judge=password, pattern=_bare(_PASSWORD_NAME)),
    Rule(kind="secret", literals=_SECRETS, judge=random, unless=_PUBLIC,
         pattern=_quoted(_SECRET_NAME)),
    Rule(kind="secret", literals=_SECRETS, judge=random, unless=_PUBLIC,
         pattern=_bare(_SECRET_NAME)),
    Rule(kind="password", literals=_CALLS, judge=given, pattern=_called(_PASSWORD_NAME)),
    Rule(kind="secret", literals=_CALLS, judge=random, unless=_PUBLIC,
         pattern=_called(_SECRET_NAME)),
    # As environments are written down, any value is one.
    Rule(kind="password", literals=_PASSWORDS, judge=anything,
         pattern=rf"(?m){FENCE}[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD)=({_BARE}{{4,}})"
         r"(?:$|[\s\"'`\\;])"),
    Rule(kind="password", literals=(b"password",), judge=strong,
         pattern=rf"(?i)password(?:[ \t]+(?:is|was))?:?[ \t]+{QUOTE}?({_VALUE}{{8,}})"),
    Rule(kind="password", literals=_PASSWORDS, judge=given, pattern=_argument(_PASSWORD_NAME)),
    Rule(kind="secret", literals=_SECRETS, judge=random, unless=_PUBLIC,
         pattern=_argument(_SECRET_NAME)),
)  # fmt: skip

PLACES = (*URLS, *FILES, *HEADERS, *COMMANDS, *NAMES)
