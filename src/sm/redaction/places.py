"""Passwords and nameless secrets, by the places people and programs put them."""

import re

from sm.redaction.rule import ASSIGN, BLANK, FENCE, QUOTE, SPACE, VALUE, Rule
from sm.redaction.values import (
    anything,
    cookies,
    credential,
    given,
    in_address,
    mixed,
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
_PASS_OWNERS = ("db", "root", "admin", "user", "smtp", "mail", "ftp", "ssh", "store", "key")
_PASSWORD_NAME = (
    rf"(?:(?:password|passwd|passphrase|pwd|pass_?code){_NAME_REST}|[<_.-]pass"
    rf"|(?:{'|'.join(_PASS_OWNERS)})pass)"
)
_FOREIGN_NAMES = ("passwort", "kennwort", "contraseña", "senha", "wachtwoord", "passord",
                  "mot de passe", "lösenord", "пароль", "密码", "密碼", "パスワード")  # fmt: skip
_KEY_OWNERS = ("api", "access", "auth", "private", "signing", "encryption", "master", "service",
               "account", "session", "storage", "shared", "app", "client", "webhook", "jwt", "hmac",
               "admin", "deploy", "license")  # fmt: skip
_SECRET_NAME = rf"(?:secret|token|credential|[_-]key|(?:{'|'.join(_KEY_OWNERS)})\.?key){_NAME_REST}"
_SHORTEST = 16
"""What is shorter was not rolled; so no time is spent on the many names with a number."""
# Names of things that are rolled like secrets and are none.
_PUBLIC = re.compile(
    rb"(?i)(?:page|next|request|lock|continuation|sync|idempotency|change|update|action|resume"
    rb"|forward|backward)"
    rb"[_-]?token\W"
    rb"|(?:cache|partition|sort|primary|foreign|object|public|host|s3|row|site|device|recv)[_-]?keys?\W"
    rb"|(?:key|token|secret|credential)s?[_-]?"
    rb"(?:id|ids|name|arn|hash|type|version|file|path|url|prefix|alias)\W"
)
_TYPE = rf"(?:{BLANK}*:{BLANK}*[A-Za-z.\[\] |&]+)?"
_EQUALS = rf"{BLANK}*(?:=>|:=|={{1,3}}|:){BLANK}*"


def _between_quotes(least: int) -> str:
    # Python marks bytes with a letter.
    return (
        rf"[bru]?(?:\"((?:[^\s\"\\]|\\[\"\\/]|\\u[0-9a-fA-F]{{4}}){{{least},}})\""
        rf"|{QUOTE}({_VALUE}{{{least},}}){QUOTE})"
    )


def _quoted(name: str, least: int) -> str:
    """A name, and its value in quotes, in an element, in a cell or in a pair."""
    value = rf"({_VALUE}{{{least},}})"
    return (
        rf"(?i){name}(?:{QUOTE}?\]?{_TYPE}{_EQUALS}{_between_quotes(least)}"
        rf"|(?:{BLANK}+[a-z]+=\"[a-z0-9]*\")?>{value}</"
        rf"|{BLANK}+{QUOTE}{value}{QUOTE}"
        rf"|{QUOTE}?{VALUE}{BLANK}*{QUOTE}{value}"
        rf"|{BLANK}+\|{BLANK}+({_BARE}{{{least},}}))"
    )


def _bare(name: str, least: int) -> str:
    """A value without quotes, whose name has none either: JSON stays JSON. A call is no value."""
    return (
        rf"(?im){name}(?:{_TYPE}{_EQUALS}|{VALUE}{BLANK}*)({_BARE}{{{least},}})"
        rf"(?:$|[\s\"'`\\<>,;)}}|\]])"
    )


def _short(names: str) -> str:
    """As both, for names that may be a part of other words."""
    return (
        rf"(?im)(?:{FENCE}|_)(?:{names})(?:{QUOTE}?{_EQUALS}{_between_quotes(4)}"
        rf"|{_EQUALS}({_BARE}{{4,}})(?:$|[\s\"'`\\<>,;)}}|\]]))"
    )


def _called(name: str, least: int) -> str:
    """``define('NAME', 'value')`` and its like."""
    call = r"(?:define|setenv|putenv|set|set_?(?:property|item|env|environment_?variable))"
    words = rf"{QUOTE}[A-Za-z0-9_.-]*{name}{QUOTE}"
    return rf"(?i){call}\([ \t]*{words}[ \t]*,[ \t]*{_between_quotes(least)}"


def _argument(name: str, least: int) -> str:
    """A value that only a space parts from its name, as options and shells have it."""
    before = rf"(?:--|{FENCE}(?:setx?|env)[ \t]+)[A-Za-z0-9_-]*"
    return rf"(?im){before}{name}[ \t]+{QUOTE}?({_BARE}{{{least},}})"


URLS = (
    Rule(kind="database-url", literals=(b"://",), judge=in_address,
         sign=rf"(?i){_DATABASE}(?:\+[a-z0-9_+]+)?://",
         pattern=rf"(?i){_DATABASE}(?:\+[a-z0-9_+]{{1,20}})?://{_USER_PART}:{_URL_PASSWORD}"),
    Rule(kind="url-password", literals=(b"://",), judge=in_address,
         pattern=rf"://{_USER_PART}:{_URL_PASSWORD}"),
    Rule(kind="url-password", literals=(b"://",), judge=random,
         pattern=r"://([A-Za-z0-9_-]{20,})@[A-Za-z0-9-]"),
    Rule(kind="database-url", literals=(b"password=", b"pwd="), judge=given,
         sign="(?i)(?:password|pwd)=",
         pattern=r"(?i)(?:user id|uid|user|dbname|host|server|database)=[^\n\r\"'\\]{1,200}?[;\s&?]"
         rf"(?:password|pwd)=([^{_END};&]{{4,}})"),
)  # fmt: skip

FILES = (
    Rule(kind="netrc-password", literals=(b"password",), judge=given,
         pattern=rf"(?im){FENCE}(?:login|account){SPACE}[^\s\"\\]+{SPACE}"
         rf"\+?{BLANK}*password{SPACE}([^{_END}]{{4,}})"),
    Rule(kind="netrc-password", literals=(b":543", b":6432", b":6543"), judge=strong,
         sign=":(?:543[0-9]|6432|6543):",
         pattern=r"[A-Za-z0-9*.-]:(?:543[0-9]|6432|6543):[A-Za-z0-9_*-]+:[A-Za-z0-9_.@-]+:"
         rf"([^{_END}:]{{6,}})"),
    Rule(kind="password-hash", literals=(b"$",), pattern=
         r"(\$2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{53}|\$(?:[156]|apr1)\$(?:rounds=[0-9]+\$)?[./A-Za-z0-9]{1,16}"
         r"\$[./A-Za-z0-9]{22,86}|\$argon2(?:id|i|d)\$v=[0-9]+\$m=[0-9]+,t=[0-9]+,p=[0-9]+"
         r"\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}|\$y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{1,86}"
         r"\$[./A-Za-z0-9]{43}|\$[PH]\$[./A-Za-z0-9]{31})"),
    Rule(kind="password-hash", literals=(b"pbkdf2", b"scrypt"), sign="(?:pbkdf2|scrypt)", pattern=
         r"((?:\$?pbkdf2[_:-]?(?:hmac[_:-])?sha[0-9]{1,3}|scrypt)[:$][0-9:]{1,24}\$"
         r"[./A-Za-z0-9+]{4,64}\$[./A-Za-z0-9+]{22,256}={0,2})"),
    Rule(kind="password-hash", literals=(b"{ss", b"{sha"), pattern=
         r"\{S?SHA(?:256|384|512)?\}([A-Za-z0-9+/]{27,}={0,2})"),
    Rule(kind="secret", literals=(b"otpauth://",), sign="otpauth://", pattern=
         rf"otpauth://[^{_END}]{{0,200}}[?&]secret=([A-Za-z2-7]{{16,}})"),
)  # fmt: skip

HEADERS = (
    Rule(kind="authorization-header", literals=(b"authorization",), judge=credential,
         pattern=rf"(?im)(?:{FENCE}|proxy-)authorization{ASSIGN}"
         r"(?:[a-z][a-z-]{2,11}[ \t]+)?([A-Za-z0-9._~+/=:@-]{8,})"),
    Rule(kind="authorization-header", literals=(b"-h ", b"--header"), judge=given,
         pattern=rf"(?im){FENCE}(?:-h|--header)[ \t=]+{QUOTE}"
         rf"[a-z-]*(?:key|token|secret|auth)[a-z-]*:{BLANK}*([A-Za-z0-9._~+/=@-]{{8,}})"),
    Rule(kind="authorization-header", literals=(b"bearer",), judge=random,
         pattern=rf"(?i)bearer{BLANK}+([A-Za-z0-9._~+/=-]{{16,}})"),
    Rule(kind="authorization-header", literals=(b"x-", b"-token"), judge=random,
         pattern=rf"(?i)(?:x-[a-z-]{{0,20}}(?:key|token|secret)|private-token){ASSIGN}"
         r"([A-Za-z0-9._~+/=-]{16,})"),
    Rule(kind="cookie", literals=(b"cookie", b"-b "), judge=cookies,
         pattern=rf"(?i)(?:cookie{ASSIGN}|\s-b[ \t]+{QUOTE}?)"
         rf"((?:[A-Za-z0-9_.-]+=[^;{_END}]*(?:;[ \t]?)?)+)"),
)  # fmt: skip

_LINE = r"[^\n\r;|\\]{0,160}?"
_ARGUMENT = rf"{QUOTE}?({_VALUE}{{4,}})"
_WITH_P = (b"sshpass", b"mongo", b"7z ", b"7za ", b"rar ")
_READS_ONE = (
    r"(?:sudo[ \t]+(?:-[A-Za-z]+[ \t]+)*-[A-Za-z]*S|chpasswd|--?password-stdin"
    r"|passwd[ \t]+--stdin|--with-token)"
)
_TOLD = (b"sudo", b"chpasswd", b"-stdin", b"--stdin", b"--with-token")
_USER_OPTION = rf"{FENCE}(?:-u|--user|--proxy-user|--auth|https? -a)[ \t=]+{QUOTE}?"
COMMANDS = (
    Rule(kind="command-password", literals=(b"-u ", b"--user", b"--proxy-user"), judge=given,
         pattern=rf"(?m){_USER_OPTION}\{{?[A-Za-z0-9_.@-]*\}}?{QUOTE}?:{QUOTE}?({_VALUE}{{4,}})"),
    # A key in the user's place, and no password.
    Rule(kind="command-password", literals=(b"-u ", b"--user"), judge=given,
         pattern=rf"(?m){_USER_OPTION}([^:{_END}]{{8,}}):{QUOTE}?(?:\s|$)"),
    Rule(kind="command-password", literals=(b"mysql", b"mariadb"), judge=given,
         sign="(?:mysql|mariadb)[a-z-]*\\s",
         pattern=rf"(?m){FENCE}(?:mysql|mariadb)[a-z-]{{0,12}}(?:\s{_LINE})?\s-p{_ARGUMENT}"),
    Rule(kind="command-password", literals=_WITH_P, judge=given,
         sign="(?:sshpass|mongo[a-z]*|7z[ar]?|rar)\\s",
         pattern=rf"(?:sshpass|{FENCE}(?:mongo[a-z]{{0,7}}|7z[ar]?|(?:un)?rar))(?:\s{_LINE})?"
         rf"\s-p[ \t]*{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"ldap",), judge=given, sign="ldap[a-z]+\\s",
         pattern=rf"ldap[a-z]{{3,8}}\s{_LINE}\s?-w[ \t]*{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b" -p",), judge=given,
         sign="(?:zip|sqlcmd|bcp|ipmitool)\\s",
         pattern=rf"{FENCE}(?:(?:un)?zip|sqlcmd|bcp|ipmitool)(?:\s{_LINE})?\s-P[ \t]*{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"-u",), judge=given,
         sign="(?:-U|--user)[ \\t=\"'`\\\\]*[A-Za-z0-9_.@/-]+%",
         pattern=rf"(?m){FENCE}(?:-U|--user)[ \t=]*{QUOTE}?[A-Za-z0-9_.@/-]{{1,64}}%{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"pass:",), judge=given,
         pattern=rf"-pass(?:in|out|word)?[ \t]+{QUOTE}?pass:({_VALUE}{{4,}})"),
    Rule(kind="command-password", literals=(b"htpasswd",), judge=given,
         pattern=rf"htpasswd\s+-[A-Za-z]*b[A-Za-z]*\s+(?:\S+\s+)?\S+\s+{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"net use",), judge=given,
         pattern=rf"(?i)net use\s+[^\n\r;|]{{0,160}}?\s{_ARGUMENT}[ \t]+/user:"),
    Rule(kind="command-password", literals=(b"/user:",), judge=given, sign="(?i)/user:",
         pattern=rf"(?i)/user:{QUOTE}?[^{_END}]{{1,64}}{QUOTE}?[ \t]+{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"sqlplus", b"sqlldr", b"expdp", b"impdp"), judge=given,
         pattern=rf"(?:sqlplus|sqlldr|expdp|impdp)\s(?:-[A-Za-z]+\s+)*{QUOTE}?[A-Za-z0-9_$]{{1,64}}/"
         rf"([^@{_END}]{{4,}})@"),
    # Said to a program through a pipe.
    Rule(kind="command-password", literals=_TOLD, judge=given, sign=_READS_ONE,
         pattern=rf"(?m){FENCE}(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?"
         rf"(?:{QUOTE}%s(?:\\+n)?{QUOTE}[ \t]+)?{QUOTE}?(?:[A-Za-z_][A-Za-z0-9_-]{{0,31}}:)?"
         rf"([^{_END}|]{{4,}})(?:\\+n)?{QUOTE}?[ \t]*\|[ \t]*{_LINE}{_READS_ONE}"),
    Rule(kind="command-password", literals=_TOLD, judge=given, sign=_READS_ONE,
         pattern=rf"{_READS_ONE}{_LINE}<<<[ \t]*{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"login",), judge=given, sign="login\\s",
         pattern=rf"(?m){FENCE}login\s{_LINE}\s?-p[ \t=]{{1,4}}{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"redis-cli",), judge=given, sign="redis-cli\\s",
         pattern=rf"redis-cli\s{_LINE}\s?-a[ \t]+{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"pass", b"pwd"), judge=given,
         sign="(?:pass(?:word|wd|phrase)?|pwd)[ \\t=]",
         pattern=rf"(?m){FENCE}--?(?:[A-Za-z_]{{1,20}}-?)?(?:pass(?:word|wd|phrase)?|pwd)"
         rf"[ \t=]{{1,4}}{_ARGUMENT}"),
    # Whatever the program: a user and a password.
    Rule(kind="command-password", literals=(b"-u",), judge=strong,
         sign="-[uU][ \\t]*[^\\s]+[ \\t]+-[pP][ \\t]",
         pattern=rf"(?m){FENCE}-[uU][ \t]*[^{_END}]{{1,64}}[ \t]+-[pP][ \t]+{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"lftp",), judge=given,
         pattern=rf"lftp\s{_LINE}-u[ \t]+{QUOTE}?[^,{_END}]{{1,64}},{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"/p:", b"/pass"), judge=strong,
         pattern=rf"(?im){FENCE}/p(?:ass(?:word)?)?:{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"add_user", b"change_password"), judge=given,
         pattern=rf"rabbitmqctl\s+(?:add_user|change_password)\s+[^{_END}]+[ \t]+{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"openssl",), judge=given, sign="openssl\\s+enc",
         pattern=rf"openssl\s+enc\s{_LINE}-k[ \t]+{_ARGUMENT}"),
    Rule(kind="command-password", literals=(b"identified",), judge=given,
         pattern=r"(?i)identified (?:with [a-z0-9_]+ )?by (?:password )?"
         rf"{QUOTE}({_VALUE}{{4,}}){QUOTE}"),
    Rule(kind="secret", literals=(b"secret set", b"secrets set", b"secret put", b"secrets create"),
         judge=random, sign="secrets? (?:set|put|create)\\s",
         pattern=rf"secrets? (?:set|put|create)\s{_LINE}(?:(?:--body|-b|--data)[ \t=]+"
         rf"|[A-Z][A-Z0-9_]*=|<<<[ \t]*){_ARGUMENT}"),
    Rule(kind="secret", literals=(b"cargo login", b"authtoken"), judge=random,
         pattern=rf"(?:cargo login|authtoken)[ \t]+{_ARGUMENT}"),
    Rule(kind="secret", literals=(b"?key=", b"&key="), judge=random,
         pattern=rf"[?&]key=([^{_END}&]{{16,}})"),
)  # fmt: skip

_SECRETS = (b"secret", b"token", b"credential", b"_key", b"-key",
            *(f"{owner}key".encode() for owner in _KEY_OWNERS))  # fmt: skip
_PASSWORDS = (b"passw", b"passp", b"passc", b"pass_c", b"_pass", b"-pass", b".pass", b"<pass",
              b"pwd", *(f"{owner}pass".encode() for owner in _PASS_OWNERS))  # fmt: skip
_CALLS = (b"define(", b"env(", b"set(", b"property(", b"item(", b"variable(")
NAMES = (
    Rule(kind="password", literals=_PASSWORDS, judge=given, pattern=_quoted(_PASSWORD_NAME, 4)),
    Rule(kind="password", literals=_PASSWORDS, judge=password, pattern=_bare(_PASSWORD_NAME, 4)),
    Rule(kind="secret", literals=_SECRETS, judge=random, unless=_PUBLIC,
         pattern=_quoted(_SECRET_NAME, _SHORTEST)),
    Rule(kind="secret", literals=_SECRETS, judge=random, unless=_PUBLIC,
         pattern=_bare(_SECRET_NAME, _SHORTEST)),
    Rule(kind="password", literals=_CALLS, judge=given, pattern=_called(_PASSWORD_NAME, 4)),
    Rule(kind="secret", literals=_CALLS, judge=random, unless=_PUBLIC,
         pattern=_called(_SECRET_NAME, _SHORTEST)),
    # As environments are written down, any value is one.
    Rule(kind="password", literals=_PASSWORDS, judge=anything,
         pattern=rf"(?m){FENCE}[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD)=({_BARE}{{4,}})"
         r"(?:$|[\s\"'`\\;])"),
    Rule(kind="password", literals=(b"password",), judge=strong,
         pattern=rf"(?i)password(?:{BLANK}+(?:is|was))?:?{BLANK}+{QUOTE}?({_VALUE}{{8,}})"),
    Rule(kind="password", literals=tuple(name.encode() for name in _FOREIGN_NAMES), judge=password,
         pattern=_short("|".join(_FOREIGN_NAMES))),
    # Two letters are a name of anything in a program that was made small.
    Rule(kind="password", literals=(b"pw", b"psk", b"pass"), judge=strong,
         pattern=_short("pw|psk|pass")),
    Rule(kind="secret", literals=(b"auth", b"bearer"), judge=random,
         pattern=rf"(?im)(?:{FENCE}|_)(?:auth|bearer){QUOTE}?{_EQUALS}{QUOTE}?({_BARE}{{16,}})"),
    Rule(kind="secret", literals=(b"token", b"secret", b"api", b"credential"), judge=mixed,
         pattern=rf"(?i)(?:token|secret|api[ -]?key|credential)(?:{BLANK}+(?:is|was))?:?{BLANK}+"
         rf"{QUOTE}?([A-Za-z0-9_~+/=.-]{{16,}})"),
    Rule(kind="password", literals=_PASSWORDS, judge=given, pattern=_argument(_PASSWORD_NAME, 8)),
    Rule(kind="secret", literals=_SECRETS, judge=random, unless=_PUBLIC,
         pattern=_argument(_SECRET_NAME, _SHORTEST)),
)  # fmt: skip

PLACES = (*URLS, *FILES, *HEADERS, *COMMANDS, *NAMES)
