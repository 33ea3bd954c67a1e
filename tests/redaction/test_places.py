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
        ("command-password", f"mysqldump --user=me --password={PASSWORD} app"),
        ("command-password", f"smbclient //nas/share -U 'jane%{PASSWORD}'"),
        ("command-password", f"smbclient //nas/share --user=jane%{PASSWORD}"),
        ("command-password", f"echo 'root:{PASSWORD}' | chpasswd"),
        ("command-password", f"echo {PASSWORD} | sudo -S apt update"),
        ("command-password", rf"printf '%s\n' '{PASSWORD}' | docker login --password-stdin"),
        ("command-password", f"docker login -u me --password-stdin <<< {PASSWORD}"),
        ("command-password", f"ldapsearch -D cn=admin -w {PASSWORD} -b dc=x"),
        ("command-password", f"openssl rsa -in k.pem -passin pass:{PASSWORD} -out p.pem"),
        ("command-password", f"mongosh --host db -u me -p {PASSWORD}"),
        ("command-password", f"zip -r -P {PASSWORD} a.zip docs"),
        ("command-password", f"7z a -p{PASSWORD} a.7z docs"),
        ("command-password", f"htpasswd -b users.txt jane {PASSWORD}"),
        ("command-password", f"net use z: //nas/share {PASSWORD} /user:jane"),
        ("command-password", f"net use z: //nas/share /user:jane {PASSWORD}"),
        ("command-password", f"sqlplus -S scott/{PASSWORD}@orcl"),
        ("command-password", "curl -u admin:*QFnzm0Xh7=ZXJ https://example.com"),
        ("command-password", f"cqlsh -u me -p {PASSWORD} host"),
        ("command-password", f"lftp -u me,{PASSWORD} host"),
        ("command-password", f"xfreerdp /u:me /p:{PASSWORD} /v:host"),
        ("command-password", f"http --auth me:{PASSWORD} GET example.com"),
        ("command-password", f"rabbitmqctl add_user me {PASSWORD}"),
        ("command-password", f"htpasswd -nb jane {PASSWORD}"),
        ("command-password", f"openssl enc -aes-256-cbc -k {PASSWORD}"),
        ("command-password", f"keytool -list -storepass {PASSWORD}"),
        ("command-password", f"ALTER USER root IDENTIFIED BY '{PASSWORD}';"),
        ("password", f"dbpass = '{PASSWORD}'"),
        ("password", f"PW={PASSWORD}"),
        ("password", f'psk="{PASSWORD}"'),
        ("password", f"Kennwort: {PASSWORD}"),
        ("password", f"mot de passe : {PASSWORD}"),
        ("password", f"pass: {PASSWORD}"),
        ("secret", f"app.secret_key = b'{ROLLED}'"),
        ("secret", f"doppler secrets set KEY={ROLLED}"),
        ("secret", f"cargo login {ROLLED}"),
        ("secret", f"https://example.com/v1?a=1&key={ROLLED}"),
        ("secret", f"auth: {ROLLED}"),
        ("secret", f"Token {ROLLED} is refused"),
        ("secret", f'gh secret set DEPLOY --body "{ROLLED}"'),
        ("secret", f'SetEnvironmentVariable("API_KEY","{ROLLED}")'),
        ("url-password", f"https://{ROLLED}@github.com/a/b"),
        ("authorization-header", "PRIVATE-TOKEN: xKzQ_wRtPlmNvBcXsDfG"),
        ("authorization-header", "X-Vault-Token: omcZo0MotvzgdrASBiDqcgYubg"),
        ("password", "smtp_password: hAewypOIEL"),
        ("password", f'os.Setenv("ADMIN_PASSWORD", "{PASSWORD}")'),
        ("password", rf'{{"code": "os.Setenv(\"ADMIN_PASSWORD\", \"{PASSWORD}\")"}}'),
        ("password", f"ENV DB_PASSWORD {PASSWORD}"),
        ("password", f"- name: DB_PASSWORD\n  value: {PASSWORD}"),
        ("secret", f"ENV CLIENT_SECRET {ROLLED}"),
        ("secret", f"- name: CLIENT_SECRET\n  value: {ROLLED}"),
        ("secret", rf"- name: CLIENT_SECRET\n  value: '{ROLLED}'\n"),
        ("secret", f'{{"name":"CLIENT_SECRET","value":"{ROLLED}"}}'),
        ("secret", f'<add key="StorageKey" value="{ROLLED}" />'),
        ("secret", f"app.api.key={ROLLED}"),
        ("secret", 'JwtSecret: "kzQPwvLMxnBTyrHSdfGJ"'),
        ("secret", "otpauth://totp/Acme:jane?secret=JBSWY3DPEHPK3PXP&issuer=Acme"),
        ("password-hash", "root:$6$saltsalt$" + "a/B." * 21 + "cd:19700:0"),
        ("password-hash", "jane:$apr1$saltsalt$" + "a/B." * 5 + "cd"),
        ("password-hash", "pbkdf2_sha256$600000$saltsaltsalt$" + "a/B+" * 10 + "abc="),
        ("password-hash", "scrypt:32768:8:1$saltsalt$" + "0123456789abcdef" * 8),
        ("password-hash", "userPassword: {SSHA}" + "aB3/" * 8),
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
        "--device-key us-west-2_abcd_1234-5678",
        "--lifecycle-action-token 71514b9d-6a40-4b26-8523-05e7ee35fa40",
        "SESSION_TOKEN_PREFIX = 'a1B2c3D4e5F6a7B8c9D0'",
        "MultiHostUrl('https://foo.com:123,foo:bar@bar.com')",
        "Authorization: AWS4-HMAC-SHA256 Credential=mock1234567890/20260101/us-east-1",
        "newPassword: hashPasswordWith",
        'return a.password},pw="de1brs7b24";',
        "docker run -u app -p 8080:80 image",
        "ssh -u me -p 2222 host",
        "The token is validated_by_the_server",
        "gpg --recv-keys 108F52B48DB57BB0CC439B2997B01419BD92F80A",
        "echo 'hello world' | sudo -S tee file",
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


@pytest.mark.parametrize(
    "text",
    [
        f"password:\t{PASSWORD}",
        f"DB_PASSWORD\t=\t{PASSWORD}",
        f"password is\t{PASSWORD}",
        f"API_KEY:\t{ROLLED}",
        f"aws_secret_access_key\t=\t{ROLLED * 2}",
        f"Authorization:\tBearer\t{ROLLED}",
        f"_authToken\t=\t{ROLLED}",
    ],
)
@pytest.mark.parametrize("levels", [0, 1, 2])
def test_a_tab_parts_name_and_value_however_it_is_written(text: str, levels: int) -> None:
    for _ in range(levels):
        text = json.dumps({"said": text, "code": 0})

    redacted = REDACTOR.redact(text)

    assert PASSWORD not in redacted
    assert ROLLED not in redacted
    if levels:
        assert json.loads(redacted)["code"] == 0


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"GET /callback?token={ROLLED}&state=xyz 200", "GET /callback?token=*&state=xyz 200"),
        (f"mysqldump --password={PASSWORD} a > b", "mysqldump --password=* a > b"),
        (f"echo 'root:{PASSWORD}' | chpasswd", "echo 'root:*' | chpasswd"),
        (f"jdbc:x://db?user=a&password={PASSWORD}&ssl=1", "jdbc:x://db?user=a&password=*&ssl=1"),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, kept: str) -> None:
    before, _, rest = REDACTOR.redact(text).partition("[redacted:")

    assert f"{before}*{rest.partition(']')[2]}" == kept


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
