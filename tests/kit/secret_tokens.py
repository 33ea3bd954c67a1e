"""Made-up tokens and keys of well-known services, by what these publish about their form."""

import base64
import json

from tests.kit.secret_pieces import (
    ALNUM,
    B64,
    BASE32,
    DIGITS,
    HEX,
    LOWER,
    UPPER,
    URLSAFE,
    Made,
    Random,
    assigned,
    cut,
    lines,
    webhook,
)

# --- clouds ----------------------------------------------------------------------------------


def aws_access_key(r: Random) -> Made:
    return Made(
        secret=r.choice(("AKIA", "ASIA")) + r.of(BASE32, 16),
        names=("AWS_ACCESS_KEY_ID", "aws_access_key_id", "accessKeyId"),
    )


def aws_secret_key(r: Random) -> Made:
    secret = r.of(B64, 40)
    key_id = "AKIA" + r.of(BASE32, 16)
    snippets = (
        f"AWS_SECRET_ACCESS_KEY={secret}",
        f"[default]\naws_access_key_id = {key_id}\naws_secret_access_key = {secret}",
        f'"SecretAccessKey": "{secret}"',
        f"secretAccessKey: '{secret}'",
        f'export AWS_SECRET_ACCESS_KEY="{secret}"',
        f"aws configure set aws_secret_access_key {secret}",
        f'boto3.client("s3", aws_secret_access_key="{secret}")',
    )
    if r.random() < 0.15:
        secret = "IQoJb3JpZ2luX2Vj" + r.of(B64, 380) + "=="
        line = r.choice((f"AWS_SESSION_TOKEN={secret}", f'"SessionToken": "{secret}"'))
        return Made(secret=secret, snippet=line)
    return Made(secret=secret, snippet=r.choice(snippets))


def azure_storage_key(r: Random) -> Made:
    key = r.base64(64)
    account, suffix = r.word() + str(r.randint(1, 99)), "EndpointSuffix=core.windows.net"
    if r.random() < 0.2:
        key = r.of(ALNUM, 42) + "%3D"
        return Made(
            secret=key,
            snippet=f"https://{account}.blob.core.windows.net/c/f.txt?sv=2022-11-02&ss=b"
            f"&se=2026-12-01T00%3A00%3A00Z&sp=r&sig={key}",
        )
    snippets = (
        f"DefaultEndpointsProtocol=https;AccountName={account};AccountKey={key};{suffix}",
        f"AccountEndpoint=https://{account}.documents.azure.com:443/;AccountKey={key};",
        f"az storage blob list --account-name {account} --account-key {key}",
    )
    if r.random() < 0.3:
        key, bus = r.base64(32), f"Endpoint=sb://{account}.servicebus.windows.net/"
        line = f"{bus};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={key}"
        return Made(secret=key, snippet=line)
    return Made(secret=key, snippet=r.choice(snippets))


def azure_client_secret(r: Random) -> Made:
    return Made(
        secret=r.of(ALNUM, 3) + r.choice("78") + "Q~" + r.of(URLSAFE + ".~", 34),
        names=("AZURE_CLIENT_SECRET", "client_secret", "ARM_CLIENT_SECRET"),
    )


def google_api_key(r: Random) -> Made:
    return Made(
        secret="AIza" + "Sy" + r.of(URLSAFE, 33), names=("GOOGLE_API_KEY", "GEMINI_API_KEY", "key")
    )


def google_oauth(r: Random) -> Made:
    secrets = (
        "GOCSPX-" + r.of(URLSAFE, 28),
        "ya29." + r.of(URLSAFE, r.randint(60, 200)),
        "1//0" + r.of(DIGITS, 1) + r.of(URLSAFE, r.randint(60, 90)),
    )
    return Made(secret=r.choice(secrets), names=("client_secret", "access_token", "refresh_token"))


def digitalocean_token(r: Random) -> Made:
    prefix = r.choice(("dop_v1_", "doo_v1_", "dor_v1_"))
    return Made(secret=prefix + r.of(HEX, 64), names=("DIGITALOCEAN_TOKEN", "DO_TOKEN"))


def cloudflare_token(r: Random) -> Made:
    token, key = r.of(URLSAFE, 40), r.of(HEX, 37)
    if r.random() < 0.2:
        origin = f"v1.0-{r.of(HEX, 24)}-{r.of(HEX, 146)}"
        return Made(secret=origin, names=("CLOUDFLARE_ORIGIN_CA_KEY",))
    if r.random() < 0.4:
        return Made(
            secret=key, snippet=r.choice((f"CLOUDFLARE_API_KEY={key}", f"X-Auth-Key: {key}"))
        )
    names = ("CLOUDFLARE_API_TOKEN", "CF_API_TOKEN", "cloudflare_api_token")
    return Made(secret=token, snippet=assigned(r, r.choice(names), token))


def heroku_key(r: Random) -> Made:
    if r.random() < 0.5:
        return Made(secret="HRKU-AA" + r.of(URLSAFE, 58), names=("HEROKU_API_KEY",))
    key = r.uuid()
    return Made(
        secret=key, snippet=assigned(r, r.choice(("HEROKU_API_KEY", "heroku_api_key")), key)
    )


def vault_token(r: Random) -> Made:
    secrets = (
        "hvs." + r.of(URLSAFE, r.randint(24, 100)),
        "hvb." + r.of(URLSAFE, r.randint(140, 200)),
        r.of(ALNUM, 14) + ".atlasv1." + r.of(ALNUM, 67),
    )
    return Made(secret=r.choice(secrets), names=("VAULT_TOKEN", "TFE_TOKEN", "token"))


def databricks_token(r: Random) -> Made:
    tail = r.choice(("", "-2"))
    return Made(secret="dapi" + r.of(HEX, 32) + tail, names=("DATABRICKS_TOKEN",))


# --- models ----------------------------------------------------------------------------------


def anthropic_key(r: Random) -> Made:
    form = r.choice(("api03", "api03", "admin01", "oat01", "ort01"))
    return Made(
        secret=f"sk-ant-{form}-{r.of(URLSAFE, 93)}AA",
        names=("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "x-api-key"),
    )


def openai_key(r: Random) -> Made:
    secrets = (
        f"sk-{r.of(ALNUM, 20)}T3BlbkFJ{r.of(ALNUM, 20)}",
        f"sk-proj-{r.of(URLSAFE, 74)}T3BlbkFJ{r.of(URLSAFE, 74)}",
        f"sk-svcacct-{r.of(URLSAFE, 58)}T3BlbkFJ{r.of(URLSAFE, 58)}",
        f"sk-admin-{r.of(URLSAFE, 58)}T3BlbkFJ{r.of(URLSAFE, 58)}",
    )
    return Made(secret=r.choice(secrets), names=("OPENAI_API_KEY", "openai_api_key"))


def ai_service_key(r: Random) -> Made:
    secret, name = r.choice(
        (
            ("sk-or-v1-" + r.of(HEX, 64), "OPENROUTER_API_KEY"),
            ("gsk_" + r.of(ALNUM, 52), "GROQ_API_KEY"),
            ("xai-" + r.of(ALNUM, 80), "XAI_API_KEY"),
            ("pplx-" + r.of(ALNUM, 48), "PERPLEXITY_API_KEY"),
            ("r8_" + r.of(ALNUM, 37), "REPLICATE_API_TOKEN"),
            ("fw_" + r.of(ALNUM, 24), "FIREWORKS_API_KEY"),
        )
    )
    return Made(secret=secret, names=(name,))


def huggingface_token(r: Random) -> Made:
    return Made(secret="hf_" + r.of(LOWER + UPPER, 34), names=("HF_TOKEN", "HUGGINGFACE_TOKEN"))


# --- code and packages -----------------------------------------------------------------------


def github_token(r: Random) -> Made:
    if r.random() < 0.3:
        secret = f"github_pat_11{r.of(UPPER + DIGITS, 20)}_{r.of(ALNUM, 59)}"
    else:
        secret = r.choice(("ghp_", "gho_", "ghu_", "ghs_", "ghr_")) + r.of(ALNUM, 36)
    return Made(secret=secret, names=("GITHUB_TOKEN", "GH_TOKEN", "github_pat"))


def gitlab_token(r: Random) -> Made:
    secrets = (
        "glpat-" + r.of(URLSAFE, 20),
        "gldt-" + r.of(URLSAFE, 20),
        "glrt-" + r.of(URLSAFE, 20),
        "glptt-" + r.of(HEX, 40),
        f"glcbt-{r.of(HEX, 2)}_{r.of(URLSAFE, 20)}",
        f"glpat-{r.of(URLSAFE, 27)}.01.{r.of(HEX, 9)}",
    )
    return Made(secret=r.choice(secrets), names=("GITLAB_TOKEN", "CI_JOB_TOKEN", "PRIVATE-TOKEN"))


def bitbucket_token(r: Random) -> Made:
    secrets = (
        "ATBB" + r.of(ALNUM, 32),
        f"ATATT3xFfGF0{r.of(URLSAFE, 171)}={r.of(UPPER + DIGITS, 8)}",
    )
    return Made(secret=r.choice(secrets), names=("BITBUCKET_APP_PASSWORD", "ATLASSIAN_API_TOKEN"))


def npm_token(r: Random) -> Made:
    if r.random() < 0.3:
        token = r.uuid()
        return Made(secret=token, snippet=f"//registry.example.com/:_authToken={token}")
    return Made(secret="npm_" + r.of(ALNUM, 36), names=("NPM_TOKEN", "_authToken"))


def pypi_token(r: Random) -> Made:
    start = r.choice(("AgEIcHlwaS5vcmc", "AgENdGVzdC5weXBpLm9yZw"))
    return Made(
        secret=f"pypi-{start}{r.between(URLSAFE, 120, 180)}", names=("TWINE_PASSWORD", "PYPI_TOKEN")
    )


def rubygems_token(r: Random) -> Made:
    return Made(secret="rubygems_" + r.of(HEX, 48), names=("GEM_HOST_API_KEY", "rubygems_api_key"))


def docker_token(r: Random) -> Made:
    if r.random() < 0.4:
        login = base64.b64encode(f"{r.word()}:{r.password()}".encode()).decode()
        snippet = f'{{"auths": {{"https://index.docker.io/v1/": {{"auth": "{login}"}}}}}}'
        return Made(secret=login, snippet=snippet)
    return Made(
        secret=r.choice(("dckr_pat_", "dckr_oat_")) + r.of(URLSAFE, 27),
        names=("DOCKER_TOKEN", "DOCKERHUB_TOKEN"),
    )


# --- people and messages ---------------------------------------------------------------------


def slack_token(r: Random) -> Made:
    def number() -> str:
        return r.between(DIGITS, 11, 13)

    secrets = (
        f"xoxb-{number()}-{number()}-{r.of(ALNUM, 24)}",
        f"xoxp-{number()}-{number()}-{number()}-{r.of(HEX, 32)}",
        f"xapp-1-A{r.of(UPPER + DIGITS, 10)}-{number()}-{r.of(HEX, 64)}",
        f"xoxe.xoxp-1-{r.of(ALNUM, 163)}",
        f"xoxe-1-{r.of(ALNUM, 147)}",
    )
    return Made(secret=r.choice(secrets), names=("SLACK_BOT_TOKEN", "SLACK_TOKEN"))


def slack_webhook(r: Random) -> Made:
    capitals = UPPER + DIGITS
    path = f"T{r.of(capitals, 10)}/B{r.of(capitals, 10)}/{r.of(ALNUM, 24)}"
    if r.random() < 0.2:
        flow = f"T{r.of(capitals, 10)}/{r.of(DIGITS, 13)}/{r.of(HEX, 32)}"
        return webhook(r, f"https://hooks.slack.com/triggers/{flow}", flow)
    return webhook(r, f"https://hooks.slack.com/services/{path}", path)


def discord_token(r: Random) -> Made:
    user = r.urlsafe(r.of(DIGITS, 18)).rstrip("=")
    return Made(
        secret=f"{user}.{r.of(URLSAFE, 6)}.{r.of(URLSAFE, r.choice((27, 38)))}",
        names=("DISCORD_TOKEN", "BOT_TOKEN"),
    )


def discord_webhook(r: Random) -> Made:
    token, host = r.of(URLSAFE, 68), r.choice(("discord.com", "discordapp.com", "ptb.discord.com"))
    return webhook(r, f"https://{host}/api/webhooks/{r.of(DIGITS, 18)}/{token}", token)


def teams_webhook(r: Random) -> Made:
    token = f"{r.of(HEX, 32)}/{r.uuid()}"
    url = (
        f"https://{r.word()}.webhook.office.com/webhookb2/{r.uuid()}@{r.uuid()}"
        f"/IncomingWebhook/{token}"
    )
    return webhook(r, url, token)


def telegram_token(r: Random) -> Made:
    secret = f"{r.between('123456789', 9, 10)}:AA{r.of(URLSAFE, 33)}"
    if r.random() < 0.3:
        return Made(secret=secret, snippet=f"https://api.telegram.org/bot{secret}/sendMessage")
    return Made(secret=secret, names=("TELEGRAM_BOT_TOKEN", "BOT_TOKEN"))


def twilio_key(r: Random) -> Made:
    if r.random() < 0.5:
        return Made(secret="SK" + r.of(HEX, 32), names=("TWILIO_API_KEY",))
    token = r.of(HEX, 32)
    name = r.choice(("TWILIO_AUTH_TOKEN", "twilio_auth_token"))
    return Made(secret=token, snippet=assigned(r, name, token))


def sendgrid_key(r: Random) -> Made:
    return Made(secret=f"SG.{r.of(URLSAFE, 22)}.{r.of(URLSAFE, 43)}", names=("SENDGRID_API_KEY",))


def mail_service_key(r: Random) -> Made:
    secret, name = r.choice(
        (
            ("key-" + r.of(HEX, 32), "MAILGUN_API_KEY"),
            (f"{r.of(HEX, 32)}-us{r.randint(1, 21)}", "MAILCHIMP_API_KEY"),
            (f"xkeysib-{r.of(HEX, 64)}-{r.of(ALNUM, 16)}", "BREVO_API_KEY"),
            (f"re_{r.of(ALNUM, 8)}_{r.of(ALNUM, 24)}", "RESEND_API_KEY"),
        )
    )
    return Made(secret=secret, names=(name,))


# --- money, monitoring, work -----------------------------------------------------------------


def stripe_key(r: Random) -> Made:
    prefix = r.choice(("sk_live_", "rk_live_", "sk_test_", "whsec_"))
    length = 32 if prefix == "whsec_" else r.choice((24, 99))
    return Made(secret=prefix + r.of(ALNUM, length), names=("STRIPE_SECRET_KEY", "STRIPE_API_KEY"))


def square_token(r: Random) -> Made:
    secrets = (
        "sq0atp-" + r.of(URLSAFE, 22),
        "sq0csp-" + r.of(URLSAFE, 43),
        "EAAA" + r.of(URLSAFE, 60),
    )
    return Made(secret=r.choice(secrets), names=("SQUARE_ACCESS_TOKEN",))


def shopify_token(r: Random) -> Made:
    prefix = r.choice(("shpat_", "shpca_", "shppa_", "shpss_"))
    return Made(secret=prefix + r.of(HEX, 32), names=("SHOPIFY_ACCESS_TOKEN", "SHOPIFY_SECRET"))


def monitoring_key(r: Random) -> Made:
    secret, name = r.choice(
        (
            ("NRAK-" + r.of(UPPER + DIGITS, 27), "NEW_RELIC_API_KEY"),
            (f"glsa_{r.of(ALNUM, 32)}_{r.of(HEX, 8)}", "GRAFANA_TOKEN"),
            ("glc_" + r.base64(90), "GRAFANA_CLOUD_API_KEY"),
            ("sntryu_" + r.of(HEX, 64), "SENTRY_AUTH_TOKEN"),
            (f"dt0c01.{r.of(BASE32, 24)}.{r.of(BASE32, 64)}", "DYNATRACE_API_TOKEN"),
            ("", "DD_API_KEY"),
        )
    )
    if secret:
        return Made(secret=secret, names=(name,))
    secret = r.of(HEX, r.choice((32, 40)))
    name = "DD_API_KEY" if len(secret) == 32 else r.choice(("DD_APP_KEY", "DATADOG_APP_KEY"))
    return Made(secret=secret, snippet=assigned(r, name, secret))


def work_app_token(r: Random) -> Made:
    secret, name = r.choice(
        (
            ("ntn_" + r.of(DIGITS, 11) + r.of(ALNUM, 35), "NOTION_TOKEN"),
            ("secret_" + r.of(ALNUM, 43), "NOTION_API_KEY"),
            ("lin_api_" + r.of(ALNUM, 40), "LINEAR_API_KEY"),
            (f"pat{r.of(ALNUM, 14)}.{r.of(HEX, 64)}", "AIRTABLE_API_KEY"),
            (f"2/{r.of(DIGITS, 16)}/{r.of(DIGITS, 16)}:{r.of(HEX, 32)}", "ASANA_TOKEN"),
            ("figd_" + r.of(URLSAFE, 40), "FIGMA_TOKEN"),
            (f"PMAK-{r.of(HEX, 24)}-{r.of(HEX, 34)}", "POSTMAN_API_KEY"),
        )
    )
    return Made(secret=secret, names=(name,))


# --- keys ------------------------------------------------------------------------------------


def private_key(r: Random) -> Made:
    form = r.choice(("RSA", "EC", "DSA", "OPENSSH", "", "ENCRYPTED", "PGP", "PUTTY"))
    body = "\n".join(lines(r.base64(r.choice((120, 400, 1200, 2300))), 64))
    if form == "PUTTY":
        text = (
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: me@laptop\n"
            f"Public-Lines: 2\n{cut(r.base64(70))}\nPrivate-Lines: 1\n{r.base64(36)}\n"
            f"Private-MAC: {r.of(HEX, 64)}"
        )
        body = text.split("Private-Lines: 1\n")[1].split("\n")[0]
    elif form == "PGP":
        text = (
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n"
            f"{body}\n={r.of(B64, 4)}\n-----END PGP PRIVATE KEY BLOCK-----"
        )
    else:
        word = f"{form} PRIVATE KEY" if form else "PRIVATE KEY"
        head = ""
        if form == "RSA" and r.random() < 0.3:
            head = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{r.of(UPPER, 32)}\n\n"
        text = f"-----BEGIN {word}-----\n{head}{body}\n-----END {word}-----"
    indented = "\n".join(f"    {line}" for line in text.split("\n"))
    one_line = text.replace("\n", "\\n")
    snippets = (
        text,
        f"cat > ~/.ssh/id_rsa <<EOF\n{text}\nEOF",
        f"tls.key: |\n{indented}",
        f'PRIVATE_KEY="{one_line}"',
        f'"private_key": "{one_line}",',
    )
    return Made(secret=body, snippet=r.choice(snippets if form != "PUTTY" else snippets[:2]))


def age_key(r: Random) -> Made:
    return Made(
        secret="AGE-SECRET-KEY-1" + r.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
        names=("SOPS_AGE_KEY",),
    )


def wireguard_key(r: Random) -> Made:
    key = r.base64(32)
    snippets = (
        f"[Interface]\nPrivateKey = {key}\nAddress = 10.0.0.2/32",
        f"[Peer]\nPublicKey = {r.base64(32)}\nPresharedKey = {key}",
        f"PrivateKey={key}",
    )
    return Made(secret=key, snippet=r.choice(snippets))


def jwt(r: Random) -> Made:
    head = json.dumps({"alg": r.choice(("HS256", "RS256", "ES256")), "typ": "JWT"})
    body = json.dumps(
        {"sub": r.of(DIGITS, 10), "name": r.word(), "iat": r.randint(10**9, 2 * 10**9)}
    )
    return Made(
        secret=f"{r.urlsafe(head)}.{r.urlsafe(body)}.{r.of(URLSAFE, r.choice((43, 86, 342)))}",
        names=("ID_TOKEN", "token", "SUPABASE_SERVICE_ROLE_KEY"),
    )


KINDS = (
    aws_access_key,
    aws_secret_key,
    azure_storage_key,
    azure_client_secret,
    google_api_key,
    google_oauth,
    digitalocean_token,
    cloudflare_token,
    heroku_key,
    vault_token,
    databricks_token,
    anthropic_key,
    openai_key,
    ai_service_key,
    huggingface_token,
    github_token,
    gitlab_token,
    bitbucket_token,
    npm_token,
    pypi_token,
    rubygems_token,
    docker_token,
    slack_token,
    slack_webhook,
    discord_token,
    discord_webhook,
    teams_webhook,
    telegram_token,
    twilio_key,
    sendgrid_key,
    mail_service_key,
    stripe_key,
    square_token,
    shopify_token,
    monitoring_key,
    work_app_token,
    private_key,
    age_key,
    wireguard_key,
    jwt,
)
