"""What real secrets of each kind look like, written down apart from the rules that find them.

A template names what a secret holds: outside braces what anybody may know, inside what is secret.
`{w:36}` is 36 letters and digits, `{d:19!}` a number anybody may see. Nothing here reads the rules
or their own generator.
"""

import base64
import json
import re
import string
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

LETTERS = string.ascii_letters
ALPHABETS = {
    "d": string.digits,
    "x": "0123456789abcdef",
    "X": "0123456789ABCDEF",
    "l": LETTERS,
    "a": string.ascii_lowercase + string.digits,
    "A": string.ascii_uppercase + string.digits,
    "w": LETTERS + string.digits,
    "b": LETTERS + string.digits + "+/",
    "u": LETTERS + string.digits + "-_",
    "q": LETTERS + string.digits + "_~.-",
    "two": string.ascii_uppercase + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "dot": LETTERS + string.digits + "./",
    "pw": LETTERS + string.digits + "!#%*+.=?^_~-",
}
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A secret as text; `parts` are the characters of it that must not survive."""

    text: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One kind: its shapes, and the names it is kept under; without names it stands for itself."""

    templates: tuple[str, ...]
    names: tuple[str, ...]
    named: tuple[str, ...] = ()
    """Shapes that could be anything: only a name tells what they are."""


def draw(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _github(rng: Random, length: int) -> str:
    body = draw(rng, BASE62, length)
    number, check = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        check = BASE62[digit] + check
    return body + check


def _segment(rng: Random, value: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _jwt(rng: Random, length: int) -> str:
    head: dict[str, object] = {"alg": rng.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    if rng.random() < 0.5:
        head["kid"] = draw(rng, ALPHABETS["u"], 12)
    claims: dict[str, object] = {
        "sub": draw(rng, string.digits, 10),
        "iss": "https://auth.example.com/",
        "iat": rng.randrange(1_600_000_000, 1_800_000_000),
    }
    signature = draw(rng, ALPHABETS["u"], 43 if head["alg"] == "HS256" else 86)
    return f"{_segment(rng, head)}.{_segment(rng, claims)}.{signature}"


def _basic(rng: Random, length: int) -> str:
    user = rng.choice(["admin", "deploy", "ci-bot", "jane.doe@example.com"])
    return base64.b64encode(f"{user}:{draw(rng, ALPHABETS['pw'], length)}".encode()).decode()


def _uuid(rng: Random, length: int) -> str:
    return "-".join(draw(rng, ALPHABETS["x"], n) for n in (8, 4, 4, 4, 12))


def _base64(rng: Random, length: int) -> str:
    return base64.b64encode(rng.randbytes(length)).decode()


def _discord(rng: Random, length: int) -> str:
    user = str(rng.randrange(10**17, 10**18)).encode()
    return base64.b64encode(user).decode().rstrip("=")


def _phrase(rng: Random, length: int) -> str:
    """A password as people choose them."""
    words = ["correct", "Horse", "battery", "Staple", "winter", "Tiger", "moon", "Kaffee", "Zug"]
    return "".join(rng.sample(words, 2)) + str(rng.randrange(10, 9999)) + rng.choice("!?#*.")


SPECIAL: dict[str, Callable[[Random, int], str]] = {
    "github": _github,
    "jwt": _jwt,
    "basic": _basic,
    "uuid": _uuid,
    "base64": _base64,
    "discord": _discord,
    "phrase": _phrase,
}
HOLE = re.compile(r"\{(\w+)(?::(\d+)(?:-(\d+))?)?(!?)\}")


def fill(rng: Random, template: str) -> Token:
    parts: list[str] = []

    def expand(hole: re.Match[str]) -> str:
        name, low, high = hole[1], int(hole[2] or 0), int(hole[3] or hole[2] or 0)
        length = rng.randint(low, high)
        text = SPECIAL[name](rng, length) if name in SPECIAL else draw(rng, ALPHABETS[name], length)
        if not hole[4]:
            parts.append(text)
        return text

    return Token(text=HOLE.sub(expand, template), parts=tuple(parts))


def _form(templates: str, names: str, *, named: str = "") -> Form:
    return Form(
        templates=tuple(templates.split()), names=tuple(names.split()), named=tuple(named.split())
    )


FORMS: dict[str, Form] = {
    "aws-access-key": _form("AKIA{two:16} ASIA{two:16}", "AWS_ACCESS_KEY_ID AWS_KEY_ID"),
    "aws-secret-key": _form(
        "", "AWS_SECRET_ACCESS_KEY AWS_SECRET_KEY S3_SECRET_ACCESS_KEY", named="{b:40}"
    ),
    "azure-storage-key": _form(
        "", "AZURE_STORAGE_KEY AZURE_STORAGE_ACCOUNT_KEY STORAGE_ACCOUNT_KEY", named="{base64:64}"
    ),
    "azure-client-secret": _form("{q:3}8Q~{q:34} {w:3}7Q~{w:31}", "AZURE_CLIENT_SECRET"),
    "google-api-key": _form("AIzaSy{u:33} AIzaSy{u:33}", "GOOGLE_API_KEY GEMINI_API_KEY MAPS_KEY"),
    "google-oauth": _form(
        "GOCSPX-{u:28} ya29.a0{u:120-190} 1//0{d:1}{u:60-98}",
        "GOOGLE_CLIENT_SECRET GOOGLE_REFRESH_TOKEN GOOGLE_ACCESS_TOKEN",
    ),
    "anthropic-key": _form(
        "sk-ant-api03-{u:93}AA sk-ant-oat01-{u:93}AA sk-ant-ort01-{u:93}AA sk-ant-admin01-{u:93}AA",
        "ANTHROPIC_API_KEY CLAUDE_API_KEY ANTHROPIC_AUTH_TOKEN",
    ),
    "openai-key": _form(
        "sk-{w:20}T3BlbkFJ{w:20} sk-proj-{u:74}T3BlbkFJ{u:74} sk-svcacct-{u:74}T3BlbkFJ{u:74}"
        " sk-admin-{u:74}T3BlbkFJ{u:74}",
        "OPENAI_API_KEY OPENAI_KEY",
    ),
    "ai-service-key": _form(
        "gsk_{w:52} pplx-{w:48} xai-{w:80} r8_{w:37} sk-or-v1-{x:64} nvapi-{u:64} tvly-dev-{w:32}"
        " lsv2_pt_{x:32}_{x:10}",
        "LLM_API_KEY GROQ_API_KEY OPENROUTER_API_KEY REPLICATE_API_TOKEN",
    ),
    "huggingface-token": _form("hf_{l:34}", "HF_TOKEN HUGGING_FACE_HUB_TOKEN"),
    "github-token": _form(
        "ghp_{github:30} gho_{github:30} ghs_{github:30} ghu_{github:30} ghr_{w:76}"
        " github_pat_{w:22}_{w:59}",
        "GITHUB_TOKEN GH_TOKEN GITHUB_PAT",
    ),
    "gitlab-token": _form(
        "glpat-{u:20} glpat-{u:27}.01.{a:9} gldt-{u:20} glrt-{u:20} glptt-{x:40} glcbt-1a_{u:20}"
        " GR1348941{u:20}",
        "GITLAB_TOKEN CI_DEPLOY_TOKEN GITLAB_PRIVATE_TOKEN",
    ),
    "bitbucket-token": _form("ATBB{w:24}{X:8} ATCTT3xFfGN0{u:160-180}={X:8}", "BITBUCKET_TOKEN"),
    "npm-token": _form("npm_{github:30}", "NPM_TOKEN NODE_AUTH_TOKEN"),
    "pypi-token": _form(
        "pypi-AgEIcHlwaS5vcmc{u:120-160} pypi-AgENdGVzdC5weXBpLm9yZw{u:120-160}",
        "TWINE_PASSWORD PYPI_TOKEN UV_PUBLISH_TOKEN",
    ),
    "rubygems-token": _form("rubygems_{x:48}", "GEM_HOST_API_KEY RUBYGEMS_API_KEY"),
    "docker-token": _form("dckr_pat_{u:27} dckr_oat_{u:32}", "DOCKER_TOKEN DOCKERHUB_TOKEN"),
    "slack-token": _form(
        "xoxb-{d:12!}-{d:13!}-{w:24} xoxp-{d:12!}-{d:12!}-{d:13!}-{x:32}"
        " xapp-1-A{A:10!}-{d:13!}-{x:64}"
        " xoxe.xoxp-1-{w:146-166} xoxe-1-{w:146}",
        "SLACK_BOT_TOKEN SLACK_TOKEN SLACK_APP_TOKEN",
    ),
    "slack-webhook": _form(
        "https://hooks.slack.com/services/T{A:10!}/B{A:10!}/{w:24}"
        " https://hooks.slack.com/workflows/T{A:8!}/A{A:8!}/{d:18!}/{w:24}",
        "SLACK_WEBHOOK_URL",
    ),
    "discord-token": _form(
        "{discord:1!}.G{u:5}.{u:38} {discord:1!}.X{u:5}.{u:27}", "DISCORD_TOKEN"
    ),
    "discord-webhook": _form(
        "https://discord.com/api/webhooks/{d:19!}/{u:68}"
        " https://discordapp.com/api/webhooks/{d:18!}/{u:68}",
        "DISCORD_WEBHOOK_URL",
    ),
    "teams-webhook": _form(
        "https://acme.webhook.office.com/webhookb2/{uuid!}@{uuid!}/IncomingWebhook/{x:32}/{uuid!}"
        " https://prod-12.westus.logic.azure.com:443/workflows/{x:32!}"
        "/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0"
        "&sig={u:43}",
        "TEAMS_WEBHOOK_URL",
    ),
    "telegram-token": _form("{d:10!}:AA{u:33} {d:9!}:AA{u:33}", "TELEGRAM_BOT_TOKEN BOT_TOKEN"),
    "stripe-key": _form(
        "sk_live_{w:24} sk_live_51{w:97} rk_live_{w:24} sk_test_51{w:97} whsec_{w:32}",
        "STRIPE_SECRET_KEY STRIPE_API_KEY",
    ),
    "square-token": _form("EAAA{u:60} sq0atp-{u:22} sq0csp-{u:43}", "SQUARE_ACCESS_TOKEN"),
    "shopify-token": _form(
        "shpat_{x:32} shpss_{x:32} shpca_{x:32} shppa_{x:32}", "SHOPIFY_ACCESS_TOKEN"
    ),
    "twilio-key": _form("", "TWILIO_AUTH_TOKEN TWILIO_API_SECRET", named="{x:32}"),
    "sendgrid-key": _form("SG.{u:22}.{u:43}", "SENDGRID_API_KEY"),
    "mail-service-key": _form(
        "key-{x:32} {x:32}-us{d:2} xkeysib-{x:64}-{w:16} re_{w:8}_{w:24}",
        "MAILGUN_API_KEY MAILCHIMP_API_KEY MAIL_API_KEY",
        named="md-{u:22} {x:32}-{x:8}-{x:8}",
    ),
    "digitalocean-token": _form(
        "dop_v1_{x:64} doo_v1_{x:64} dor_v1_{x:64}", "DIGITALOCEAN_TOKEN DO_TOKEN"
    ),
    "cloudflare-token": _form(
        "", "CLOUDFLARE_API_TOKEN CF_API_TOKEN CLOUDFLARE_API_KEY", named="{u:40} {x:37}"
    ),
    "heroku-key": _form("HRKU-AA{u:58}", "HEROKU_API_KEY", named="{uuid}"),
    "vault-token": _form("hvs.{u:90-106} hvb.{u:138-160}", "VAULT_TOKEN", named="s.{w:24}"),
    "databricks-token": _form("dapi{x:32} dapi{x:32}-2", "DATABRICKS_TOKEN"),
    "monitoring-key": _form(
        "NRAK-{A:27} glsa_{w:32}_{x:8} sntryu_{x:64} dt0c01.{two:24!}.{two:64} NRII-{u:32}",
        "MONITORING_API_KEY NEW_RELIC_API_KEY GRAFANA_TOKEN SENTRY_AUTH_TOKEN",
    ),
    "work-app-token": _form(
        "secret_{w:43} ntn_{d:11}{w:35} lin_api_{w:40} ATATT3xFfGF0{u:171}={X:8} pat{w:14}.{x:64}"
        " figd_{u:40} PMAK-{x:24}-{x:34} pat-na1-{uuid}",
        "NOTION_TOKEN LINEAR_API_KEY JIRA_API_TOKEN AIRTABLE_API_KEY FIGMA_TOKEN",
    ),
    "age-key": _form("AGE-SECRET-KEY-1{bech:58}", "SOPS_AGE_KEY"),
    "jwt": _form("{jwt}", "ACCESS_TOKEN ID_TOKEN SUPABASE_SERVICE_ROLE_KEY"),
    "password": _form(
        "",
        "DB_PASSWORD POSTGRES_PASSWORD ADMIN_PASSWORD SMTP_PASSWORD MYSQL_ROOT_PASSWORD PASSWORD",
        named="{phrase} {pw:12-20} {w:10-16}",
    ),
    "secret": _form(
        "",
        "CLIENT_SECRET API_KEY JWT_SECRET SESSION_SECRET ACCESS_TOKEN ENCRYPTION_KEY APP_SECRET"
        " REFRESH_TOKEN WEBHOOK_SECRET DD_API_KEY",
        named="{x:32} {x:64} {w:32} {u:43} {base64:32}",
    ),
}
