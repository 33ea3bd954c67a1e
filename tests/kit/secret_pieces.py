"""What made-up secrets are made of: alphabets, words, and the ways a value is written down."""

import base64
import random
import string
from collections.abc import Iterator
from dataclasses import dataclass

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "-_"
B64 = ALNUM + "+/"
BASE32 = UPPER + "234567"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A secret, and the snippet that holds it where its kind needs one of its own."""

    secret: str
    names: tuple[str, ...] = ("API_KEY",)
    snippet: str | None = None


class Random(random.Random):
    """Random texts of the alphabets tokens are made of."""

    def of(self, alphabet: str, length: int) -> str:
        return "".join(self.choices(alphabet, k=length))

    def between(self, alphabet: str, least: int, most: int) -> str:
        return self.of(alphabet, self.randint(least, most))

    def uuid(self) -> str:
        return "-".join(self.of(HEX, n) for n in (8, 4, 4, 4, 12))

    def base64(self, length: int) -> str:
        return base64.b64encode(self.randbytes(length)).decode()

    def urlsafe(self, text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def word(self) -> str:
        return self.choice(_WORDS)

    def password(self) -> str:
        """Most by a password manager, some by a person."""
        way = self.random()
        if way < 0.55:
            return self.strong(ALNUM + "!#$%&*+-.=?@^_~", self.randint(12, 24))
        if way < 0.75:
            return self.strong(ALNUM, self.randint(10, 20))
        if way < 0.92:
            word = self.word().capitalize()
            return f"{word}{self.choice('!@#$-_')}{self.randint(10, 9999)}{self.choice('!?#$*')}"
        return "-".join([*(self.word() for _ in range(4)), str(self.randint(1, 99))])

    def strong(self, alphabet: str, length: int) -> str:
        """Letters of both cases and digits, as the site demanded; begins with a letter."""
        while True:
            text = self.choice(ALNUM) + self.of(alphabet, length - 1)
            if all(any(c in part for c in text) for part in (LOWER, UPPER, DIGITS)):
                return text


_WORDS = ("copper", "river", "lantern", "orbit", "summer", "falcon", "puzzle", "velvet", "anchor",
          "maple", "thunder", "pixel", "harbor", "quartz", "meadow", "cobalt", "ember", "willow",
          "saturn", "breeze", "dragon", "winter", "coffee", "rocket", "tiger")  # fmt: skip
USERS = ("admin", "deploy", "app_user", "alice", "svc-backup", "root", "ci@example.org")
HOSTS = ("db.internal", "10.0.3.17", "prod-db-1.example.com", "localhost", "queue.corp.net")


def assigned(r: Random, name: str, value: str) -> str:
    """As people and programs write down a name and its value."""
    forms = [f'{name}="{value}"', f"{name} = '{value}'", f'"{name}": "{value}"', f"{name}: {value}",
             f'{name}: "{value}"', f"{name}={value}", f"export {name}='{value}'",
             f"--set {name}={value}", f'const {name} = "{value}";',
             f"os.environ['{name}'] = '{value}'", f"setx {name} {value}"]  # fmt: skip
    return r.choice(forms[: 6 if any(c in "#$&!" for c in value) else None])


def webhook(r: Random, url: str, secret: str) -> Made:
    forms = (f"WEBHOOK_URL={url}", f'"webhook": "{url}"', f"curl -X POST -d @m.json {url}",
             f"[hook]({url})", f"url: {url}", f"POST {url} 200", url)  # fmt: skip
    return Made(secret=secret, snippet=r.choice(forms))


def lines(text: str, width: int) -> Iterator[str]:
    return (text[i : i + width] for i in range(0, len(text), width))


def cut(text: str) -> str:
    return "\n".join(lines(text, 64))


def url_safe(text: str) -> str:
    return "".join(c if c in URLSAFE + ".~!$*" else f"%{ord(c):02X}" for c in text)


def xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
