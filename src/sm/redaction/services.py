"""Tokens and keys of well-known services, by the forms these publish.

Most are known by a prefix; where there is none, by the service's name before them.
"""

from sm.redaction.rule import ASSIGN, BLANK, FENCE, QUOTE, TOKEN, Rule, anywhere, named, token
from sm.redaction.values import dense, is_login, key_block

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME_REST = "[a-z0-9_.-]*"

CLOUDS = (
    token("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", "akia", "asia", "abia",
          "acca"),
    named("aws-secret-key", "secret[_.-]?access[_.-]?key|aws[_.-]?secret(?:[_.-]?key)?",
          "[a-z0-9/+]{40,64}", "secret"),
    named("aws-secret-key", "(?:session|security)[_.-]?token", "[a-z0-9/+=%]{100,}", "token"),
    named("aws-secret-key", "x-amz-signature", "[0-9a-f]{64}", "x-amz-signature"),
    named("azure-storage-key",
          "(?:account|storage|access|cosmos(?:db)?|servicebus|eventhub)[_.-]?key"
          "|shared[_.-]?access[_.-]?key", "[a-z0-9/+]{42,86}={1,2}", "key"),
    Rule(kind="teams-webhook", literals=(b"logic.azure.com", b"powerplatform.com"), pattern=
         r"(?:logic\.azure|api\.powerplatform)\.com[^\s\"'<>]{1,400}sig=([A-Za-z0-9%_-]{20,})"),
    Rule(kind="azure-storage-key", pattern=r"(?:[?&;]|u0026)sig=([A-Za-z0-9%+/]{40,}=?)",
         literals=(b"sig=",)),
    token("azure-client-secret", r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}", "7q~", "8q~",
          sign="[78]Q~[A-Za-z0-9_~.-]"),
    token("google-api-key", rf"AIza{TOKEN}{{35}}", "aiza"),
    token("google-oauth", rf"GOCSPX-{TOKEN}{{28}}|ya29\.{TOKEN}{{20,}}|1//0[0-9]{TOKEN}{{40,}}",
          "gocspx-", "ya29.", "1//0"),
    anywhere("digitalocean-token", "do[opr]_v1_[0-9a-f]{64}", "_v1_"),
    named("cloudflare-token", rf"(?:cloudflare|cf[_.-]){_NAME_REST}(?:token|key)|x-auth-key",
          "[a-z0-9_-]{37,40}", "cloudflare", "cf_", "cf.", "cf-", "x-auth-key"),
    token("cloudflare-token", "v1\\.0-[0-9a-f]{24}-[0-9a-f]{146}", "v1.0-"),
    token("heroku-key", rf"HRKU-{TOKEN}{{30,}}", "hrku-"),
    named("vault-token", "vault(?:[a-z_.-]*token|[ \\t]+login)", r"[sbr]\.[a-z0-9]{24}\b", "vault"),
    named("heroku-key", rf"heroku{_NAME_REST}", _UUID, "heroku"),
    token("vault-token", rf"hv[sbr]\.{TOKEN}{{20,}}", "hvs.", "hvb.", "hvr."),
    token("vault-token", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{TOKEN}{{60,}}", ".atlasv1.",
          sign=r"\.atlasv1\."),
    token("databricks-token", "dapi[0-9a-f]{32}(?:-[0-9])?", "dapi"),
)  # fmt: skip

MODELS = (
    anywhere("anthropic-key", rf"sk-ant-{TOKEN}{{20,}}", "sk-ant-"),
    anywhere("ai-service-key", "sk-or-v1-[0-9a-f]{40,}", "sk-or-v1-"),
    anywhere("openai-key", rf"sk-(?:proj|svcacct|admin|None)-{TOKEN}{{20,}}", "sk-proj", "sk-svc",
             "sk-admin", "sk-none"),
    token("openai-key", "sk-[A-Za-z0-9]{32,}", "sk-"),
    token("ai-service-key", "gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|pplx-[A-Za-z0-9]{40,}"
          r"|r8_[A-Za-z0-9]{37}\b|fw_[A-Za-z0-9]{22,24}\b", "gsk_", "xai-", "pplx-", "r8_", "fw_"),
    token("ai-service-key", rf"nvapi-{TOKEN}{{40,}}|tvly-(?:dev-|prod-)?[A-Za-z0-9]{{28,}}"
          "|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|pcsk_[A-Za-z0-9_]{40,}|csk-[a-z0-9]{40,}"
          "|tgp_v1_[A-Za-z0-9_-]{40,}|jina_[A-Za-z0-9_-]{50,}|sk-lf-[0-9a-f-]{36}",
          "nvapi-", "tvly-", "lsv2_", "pcsk_", "csk-", "tgp_v1_", "jina_", "sk-lf-"),
    token("huggingface-token", "(?:hf_|api_org_)[A-Za-z0-9]{34,}", "hf_", "api_org_"),
)  # fmt: skip

CODE = (
    anywhere("github-token", "gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,}", "ghp_",
             "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    anywhere("gitlab-token", rf"gl(?:pat|dt|rt|ptt|cbt|ft|soat|agent|oas|imt|ffct)-{TOKEN}{{20,}}"
             r"(?:\.[0-9A-Za-z]{2}\.[0-9a-z]{9})?|GR1348941[A-Za-z0-9_-]{20}", "glpat-", "gldt-",
             "glrt-", "glptt-", "glcbt-", "glft-", "glsoat-", "glagent-", "gloas-", "glimt-",
             "glffct-", "gr1348941"),
    token("bitbucket-token", rf"ATBB[A-Za-z0-9]{{32}}\b|ATATT3x{TOKEN}{{40,}}(?:=[0-9A-F]{{8}})?"
          rf"|AT[CS]TT3x{TOKEN}{{40,}}(?:=[0-9A-F]{{8}})?", "atbb", "tt3x"),
    token("npm-token", "npm_[A-Za-z0-9]{36}", "npm_"),
    Rule(kind="npm-token", literals=(b"_auth", b"_password"), pattern=
         rf":_(?:authToken|auth|password){BLANK}*={BLANK}*{QUOTE}?([A-Za-z0-9+/=._-]{{16,}})"),
    anywhere("pypi-token", rf"pypi-Ag{TOKEN}{{50,}}", "pypi-ag"),
    anywhere("rubygems-token", "rubygems_[0-9a-f]{48}", "rubygems_"),
    anywhere("docker-token", rf"dckr_[po]at_{TOKEN}{{20,}}", "dckr_"),
    Rule(kind="npm-token", literals=(b"_auth",), judge=is_login, pattern=
         rf"_auth{QUOTE}?{BLANK}*[:=]{BLANK}*{QUOTE}?([A-Za-z0-9+/]{{12,}}={{0,2}})"),
    Rule(kind="docker-token", literals=(b"auth",), judge=is_login, pattern=
         rf"{QUOTE}auth{QUOTE}\s*:\s*{QUOTE}([A-Za-z0-9+/]{{12,}}={{0,2}})"),
)  # fmt: skip

PEOPLE = (
    anywhere("slack-token", r"xox[abeoprsc](?:\.xox[bp])?-[0-9A-Za-z-]{20,}"
             "|xapp-[0-9]-[0-9A-Za-z-]{20,}|xwfp-[0-9A-Za-z-]{20,}", "xox", "xapp-", "xwfp-"),
    Rule(kind="slack-webhook", literals=(b"hooks.slack.com",), pattern=
         r"hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/((?:[A-Za-z0-9+]|\\?/){30,90})"),
    # A user's number in base64 begins so.
    token("discord-token",
          rf"[MNO][DTjz][AEIMQUYcgk]{TOKEN}{{21,25}}\.{TOKEN}{{6}}\.{TOKEN}{{27,38}}", ".",
          sign=rf"[MNO][DTjz][AEIMQUYcgk]{TOKEN}+\.{TOKEN}{{3}}"),
    Rule(kind="discord-webhook", literals=(b"/webhooks",), pattern=
         rf"discord(?:app)?\.com\\?/api\\?/(?:v[0-9]+\\?/)?webhooks\\?/[0-9]{{15,22}}\\?/"
         rf"({TOKEN}{{40,}})"),
    Rule(kind="teams-webhook", literals=(b"incomingwebhook",), pattern=
         r"/IncomingWebhook\\?/([A-Za-z0-9]{20,}\\?/[A-Za-z0-9-]{30,}(?:\\?/[A-Za-z0-9_-]+)?)"),
    # Behind /bot in an address, a digit follows a letter: no fence there.
    Rule(kind="telegram-token", literals=(b":aa",), pattern=
         rf"(?m)(?:{FENCE}|/bot)([0-9]{{8,10}}:AA{TOKEN}{{33}})"),
    token("twilio-key", r"SK[0-9a-f]{32}\b", "SK"),
    named("twilio-key", rf"twilio{_NAME_REST}(?:token|secret|key)", r"[0-9a-f]{32}\b", "twilio"),
    token("sendgrid-key", rf"SG\.{TOKEN}{{16,32}}\.{TOKEN}{{32,}}", "sg."),
    token("mail-service-key", r"[0-9a-f]{32}-us[0-9]{1,2}\b", "-us", sign="[0-9a-f]-us[0-9]"),
    token("mail-service-key", r"key-[0-9a-f]{32}\b"
          r"|xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}|re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,28}\b",
          "key-", "xkeysib-", "re_"),
)  # fmt: skip

WORK = (
    token("stripe-key", "[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}=?",
          "k_live_", "k_test_", "k_prod_", "whsec_"),
    token("square-token", rf"sq0[a-z]{{3}}-{TOKEN}{{22,}}", "sq0"),
    token("square-token", r"EAAA[A-Za-z0-9_-]{60}", "eaaa", judge=dense),
    anywhere("shopify-token", "shp(?:at|ca|pa|ss|tka|ua)_[0-9a-fA-F]{32}", "shp"),
    token("monitoring-key", r"NRAK-[A-Z0-9]{27}|NR(?:II|AA|BR|JS)-[A-Za-z0-9_-]{27,}"
          r"|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,}={0,2}"
          r"|sntry[su]_[A-Za-z0-9+/=_]{40,}|dt0[a-z][0-9]{2}\.[A-Z2-7]{24}\.[A-Z2-7]{64}",
          "nrak-", "nrii-", "nraa-", "nrbr-", "nrjs-", "glsa_", "glc_", "sntry", "dt0"),
    named("monitoring-key", rf"(?:dd|datadog)[_.-]{_NAME_REST}key",
          r"(?:[0-9a-f]{32}|[0-9a-f]{40})\b", "dd_", "dd.", "dd-", "datadog"),
    token("work-app-token", r"ntn_[0-9]{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43}\b"
          r"|lin_api_[A-Za-z0-9]{40}|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"
          rf"|figd_{TOKEN}{{38,}}|PMAK-[0-9a-f]{{24}}-[0-9a-f]{{34}}|pat-[a-z]{{2}}[0-9]-{_UUID}",
          "ntn_", "secret_", "lin_api_", "pat", "figd_", "pmak-"),
    token("work-app-token", "[0-2]/(?:[0-9]{14,18}/)?[0-9]{14,18}:[0-9a-f]{32}", "0/", "1/", "2/"),
)  # fmt: skip

_ARMOUR = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_BASE64_LINES = r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\+[nrt])*){1,}"
KEYS = (
    # Up to its end, or as far as it looks like one where the end is missing. A brace would be the
    # end of the record it stands in.
    Rule(kind="private-key", literals=(b"private key",), sign=f"-----BEGIN {_ARMOUR}", reach=65_536,
         judge=key_block,
         pattern=rf"(-----BEGIN {_ARMOUR}(?:(?:[^-{{}}<>]|-[^-{{}}<>])*?-----END {_ARMOUR}"
         rf"|(?:\s|\\+[nrt])*{_BASE64_LINES}))"),
    Rule(kind="private-key", literals=(b"private-lines",), sign="Private-Lines: [0-9]",
         reach=16_384, pattern=r"Private-Lines: [0-9]{1,4}(?:\s|\\+[nrt])+\+?([A-Za-z0-9+/=]{16,}"
         r"(?:(?:\s|\\+[nrt]|\+){0,9}[A-Za-z0-9+/=]{4,})*)"),
    Rule(kind="private-key", literals=(b"key-data",), sign="client-key-data:", reach=16_384,
         pattern=r"client-key-data:\s*([A-Za-z0-9+/=]{40,})"),
    anywhere("age-key", "AGE-SECRET-KEY-1[0-9A-Z]{58}", "age-secret-key-"),
    Rule(kind="wireguard-key", literals=(b"privatekey", b"presharedkey"), pattern=
         rf"(?i)(?:private|preshared)key{ASSIGN}([A-Za-z0-9+/]{{43}}=)"),
    token("jwt", rf"eyJ{TOKEN}{{8,}}\.eyJ{TOKEN}{{8,}}\.{TOKEN}{{16,}}", "eyj"),
)  # fmt: skip

SERVICES = (*KEYS, *CLOUDS, *MODELS, *CODE, *PEOPLE, *WORK)
