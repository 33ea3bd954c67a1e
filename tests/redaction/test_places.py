"""Passwords by the places they stand in, and the code that only speaks of passwords."""

import json

import pytest

from sm.redaction.redactor import Redactor

REDACTOR = Redactor()
PASSWORD = "Zx81-Spectrum"
ROLLED = "9fKd02LmQx71VbTz84Rw"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("password", f'password = "{PASSWORD}"'),
        ("password", f"DB_PASSWORD={PASSWORD}"),
        ("password", "PASSWORD=hunter2"),
        ("password", f"password: str = '{PASSWORD}'"),
        ("password", f'{{"userPassword": "{PASSWORD}"}}'),
        ("password", rf"{{\"password\": \"{PASSWORD}\"}}"),
        ("password", rf"{{\u0022password\u0022: \u0022{PASSWORD}\u0022}}"),
        ("password", f"<Pass encoding=\"base64\">{PASSWORD}</Pass>"),
        ("password", f"define( 'DB_PASSWORD', '{PASSWORD}' );"),
        ("password", f"The password is {PASSWORD}, do not tell."),
        ("secret", f"API_KEY={ROLLED}"),
        ("secret", f"os.environ['AUTH_TOKEN'] = '{ROLLED}'"),
        ("secret", f"tool login --api-key {ROLLED}"),
        ("authorization-header", f"Authorization: Bearer {ROLLED}"),
        ("authorization-header", f"('Authorization', 'Bearer {ROLLED}')"),
        ("authorization-header", "Authorization: Basic YWRtaW46YWRtaW4="),
        ("cookie", f"Cookie: theme=dark; sid={ROLLED}"),
        ("url-password", f"https://me:{PASSWORD}@example.com/x"),
        ("database-url", f"postgresql+asyncpg://me:{PASSWORD}@db/app"),
        ("database-url", f"Server=db;Database=app;User ID=me;Password={PASSWORD};"),
        ("netrc-password", f"machine h\n  login me\n  password {PASSWORD}"),
        ("netrc-password", f"db.internal:5432:app:me:{PASSWORD}"),
        ("command-password", f"curl -u me:{PASSWORD} https://example.com"),
        ("command-password", f'curl -u "{PASSWORD}:" https://example.com'),
        ("command-password", f"curl --user me:'{PASSWORD}' https://example.com"),
        ("authorization-header", f'curl -H "Api-Token: {PASSWORD}" https://example.com'),
        ("command-password", rf"cd x\nmysql -u me -p{PASSWORD} app"),
        ("command-password", f"sshpass -p '{PASSWORD}' ssh me@host"),
        ("password-hash", "root:$6$saltsalt$" + "a/B." * 21 + "cd:19700:0"),
    ],
)  # fmt: skip
def test_a_place_is_known(kind: str, text: str) -> None:
    """The value is gone; the name before it stays."""
    output = REDACTOR.redact(text)

    assert f"[redacted:{kind}]" in output
    assert PASSWORD not in output
    assert ROLLED not in output


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password(user1)",
        "password = self.settings.password2",
        "def login(user: str, password: str) -> Token:",
        'parser.add_argument("--password", help="the password")',
        "token = tokens[index + 1]",
        'cache_key = "user_profile_settings_v2"',
        "for key, value in items: print(key)",
        "password: ${DB_PASSWORD}",
        "PASSWORD=$1",
        "http://user:password@example.com/",
        "Authorization: Bearer $TOKEN",
        "max_tokens: 200000, output_tokens: 4096",
        "if token == '(' or token == ')': depth += 1",
        "docker run -u 1000:1000 image",
        'curl -u "$USER:$PASSWORD" -H "Authorization: Bearer $TOKEN" https://example.com',
        "mysql -u root -p app",
        "[link](https://example.com:8080/a@b)",
    ],
)
def test_code_that_speaks_of_passwords_is_left_alone(text: str) -> None:
    assert REDACTOR.redact(text) == text


@pytest.mark.parametrize(
    "value",
    [
        PASSWORD,
        'quo"te-81',
        "back\\slash-81",
        "sla/sh-81",
        "am&p-81<x>",
        "tab\t81",
        8181,
        True,
        None,
    ],
)
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_json_stays_json(value: object, levels: int) -> None:
    """Numbers and words of JSON are no strings: they are left as they are."""
    text = json.dumps({"password": value, "next": [1, "two"]})
    for _ in range(levels - 1):
        text = json.dumps({"body": text, "code": 0})

    read = json.loads(REDACTOR.redact(text))

    for _ in range(levels - 1):
        assert read["code"] == 0
        read = json.loads(read["body"])
    assert read["next"] == [1, "two"]


def test_a_sentence_keeps_its_signs() -> None:
    """Only the password goes."""
    said = REDACTOR.redact(f"The password is {PASSWORD}, do not tell.")

    assert said == "The password is [redacted:password], do not tell."


@pytest.mark.parametrize(
    "name", ["nextPageToken", "request_token", "cacheKey", "secret_name", "access_key_id", "S3Key"]
)
def test_names_of_things_that_are_no_secrets(name: str) -> None:
    """Rolled like one, and needed for the work."""
    text = f'"{name}": "{ROLLED}"'

    assert REDACTOR.redact(text) == text
