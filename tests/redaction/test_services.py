"""Tokens of services: one of each form is found, and what only looks a little like it is not."""

import pytest

from sm.redaction.redactor import Redactor
from sm.redaction.services import SERVICES

REDACTOR = Redactor()
HEX32 = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
UUID = "0b7c1d52-91aa-4c3f-9b1e-55d2b0c4a7f3"
MIXED = "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA2cD4"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("aws-access-key", "ASIAQWERTYUIOPASDFGH"),
        ("aws-secret-key", f'aws_secret_access_key = "{MIXED}/+9x"'),
        ("azure-storage-key", f"sv=2022&ss=b&sig={MIXED}%2B9x%3D"),
        ("github-token", f"x={MIXED[:2]} github_pat_{MIXED}_{MIXED}"),
        ("github-token", f"xghp_{MIXED}"),
        ("gitlab-token", "glpat-aB3dE5gH7jK9mN1pQ3rS"),
        ("npm-token", f"//npm.example.com/:_authToken={UUID}"),
        ("heroku-key", f"HEROKU_API_KEY={UUID}"),
        ("telegram-token", f"https://api.telegram.org/bot123456789:AA{MIXED[:33]}/getMe"),
        ("twilio-key", f"TWILIO_AUTH_TOKEN: {HEX32}"),
        ("slack-webhook", r"https:\/\/hooks.slack.com\/services\/T0AB1CD2E\/B0AB1CD2E\/" + MIXED),
        ("private-key", f"    client-key-data: {MIXED}{MIXED}"),
        ("aws-secret-key", f"- name: AWS_SECRET_ACCESS_KEY\n  value: {MIXED}/+9x"),
        ("aws-secret-key", f"https://s3/x?X-Amz-Signature={HEX32}{HEX32}&X-Amz-Date=1"),
        ("azure-storage-key", f'"azureStorageKey": "{MIXED}{MIXED}{MIXED[:14]}=="'),
        ("azure-storage-key", f"azure.storage.key={MIXED}{MIXED}{MIXED[:14]}=="),
        ("monitoring-key", f"dd.api.key={HEX32}"),
        ("vault-token", "VAULT_TOKEN=s.tmekMHwbzPSLjjQX5gIPwsCj"),
        ("vault-token", "vault login s.tmekMHwbzPSLjjQX5gIPwsCj"),
        ("ai-service-key", f"nvapi-{MIXED}{MIXED}"),
        ("ai-service-key", f"tvly-dev-{MIXED}"),
        ("ai-service-key", f"lsv2_pt_{HEX32}_{HEX32[:10]}"),
        ("work-app-token", f"pat-na1-{UUID}"),
        ("npm-token", "_auth = YWRtaW46YWRtaW4="),
        ("docker-token", '{"auths": {"x": {"auth": "YWRtaW46YWRtaW4="}}}'),
        (
            "teams-webhook",
            f"https://prod-12.westus.logic.azure.com:443/workflows/0a1b/invoke?sv=1.0&sig={MIXED}_-9x",
        ),
    ],
)
def test_a_form_is_found(kind: str, text: str) -> None:
    assert f"[redacted:{kind}]" in REDACTOR.redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "task-" + "a" * 40,
        "AKIA in prose, and AKIAshort",
        "desk-0a1b2c3d4e5f60718293",
        f"commit {HEX32}01234567",
        f"sha256:{HEX32}{HEX32}",
        f"id: {UUID}",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0a1b2c3d4e5f60718293a4b5c6d7e8f9 me@host",
        "-----BEGIN PUBLIC KEY-----\n" + "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD\n" * 3,
        "prefetch_token_count = 5",
        "ghp_" + "x" * 36,
        "export SLACK_TOKEN=xoxb-XXXXXXXXXXXX-XXXXXXXXXXXX-XXXXXXXXXXXXXXXX",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    """Hashes, ids, public keys and pictures are needed for the work."""
    assert REDACTOR.redact(text) == text


def test_a_key_that_is_too_long_goes_as_a_whole() -> None:
    """Examples in manuals have a character more."""
    assert REDACTOR.redact(f"AWS_SECRET_ACCESS_KEY={MIXED}/+9xy") == (
        "AWS_SECRET_ACCESS_KEY=[redacted:aws-secret-key]"
    )


def test_every_rule_says_what_may_be_looked_for() -> None:
    """A rule without a literal is asked everywhere, and RE2 is loaded for every text."""
    assert [rule.kind for rule in SERVICES if not rule.literals] == []
