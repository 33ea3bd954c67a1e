"""Secrets planted in realistic surroundings, and how much of them a redacted text still shows.

Seeded: the same number gives the same samples. It knows formats and places, never the rules.
"""

import re
from dataclasses import dataclass
from random import Random

from tests.kit.foreign_places import BARE, NAMED, Segments, put, wrap
from tests.kit.foreign_tokens import FORMS, HOLE, Form, fill

RUN = 5
"""Characters in a row of a secret that are too many to survive."""
TAG = r"\[redacted:([a-z0-9-]+)\]"
LINES: dict[str, tuple[str, ...]] = {
    "azure-storage-key": (
        "BlobEndpoint=https://acme.blob;AccountName=acme;AccountKey={base64:64};Suffix=x.net\n",
        "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKey={base64:32}\n",
    ),
    "npm-token": (
        "//npm.pkg.github.com/:_authToken={uuid}\nalways-auth=true\n",
        "@acme:registry=https://npm.acme.dev/\n//npm.acme.dev/:_auth={base64:24}\n",
    ),
    "docker-token": ('{"auths": {"https://index.docker.io/v1/": {"auth": "{basic:20}"}}}\n',),
    "wireguard-key": (
        "[Interface]\nPrivateKey = {base64:32}\nAddress = 10.0.0.2/32\n",
        "[Peer]\nPresharedKey={base64:32}\nAllowedIPs = 0.0.0.0/0\n",
    ),
    "authorization-header": (
        "Authorization: Basic {basic:14}\nHost: example.com\n",
        "authorization: Bearer {u:40}\naccept: */*\n",
        'headers = {"Authorization": "Bearer {w:48}", "Accept": "*/*"}\n',
        "headers: { Authorization: `Token {x:40}` },\n",
        'req.Header.Set("Authorization", "Bearer {w:36}")\n',
        "curl -H 'X-Api-Key: {x:32}' https://api.example.com\n",
        "< proxy-authorization: Basic {basic:12}\n",
        'wget --header="Authorization: token {x:40}" https://example.com/f\n',
        "PRIVATE-TOKEN: {u:20}\nAccept: */*\n",
        "X-Vault-Token: {w:26}\n",
        "'X-Auth-Token': '{u:48}',\n",
    ),
    "cookie": (
        "Cookie: <<sessionid={a:32}; csrftoken={w:32}>>\nHost: x\n",
        "Set-Cookie: <<session={u:64}; Path=/; HttpOnly; Secure>>\n",
        "curl -b '<<sid={x:40}>>' https://app.example.com\n",
        "curl --cookie \"<<JSESSIONID={X:32}>>\" https://app.example.com\n",
        "< set-cookie: <<connect.sid=s%3A{u:32}.{w:43}; Path=/; HttpOnly>>\n",
    ),
    "url-password": (
        "git clone https://deploy:{w:20}@git.example.com/acme/app.git\n",
        "origin\thttps://oauth2:{u:24}@gitlab.example.com/a/b.git (fetch)\n",
        "pip install https://ci:{w:18}@files.acme.dev/app-1.0.tar.gz\n",
        "ftp://backup:{pw:14}@ftp.example.com/daily.tar\n",
        "HTTPS_PROXY=http://proxyuser:{w:12}@proxy.corp.example:3128\n",
        "smtp://mailer%40example.com:{w:16}@smtp.example.com:587\n",
    ),
    "database-url": (
        "DATABASE_URL=postgres://app:{w:16}@db.internal:5432/app?sslmode=require\n",
        'url = "postgresql+asyncpg://app:{pw:18}@localhost/app"\n',
        "mongodb+srv://root:{w:20}@cluster0.ab1cd.mongodb.net/test?retryWrites=true\n",
        "REDIS_URL=redis://:{w:32}@redis.internal:6379/0\n",
        "mysql://root:{phrase}@127.0.0.1:3306/shop\n",
        "amqps://svc:{w:24}@mq.internal/vhost\n",
        "jdbc:postgresql://db:5432/app?user=app&password={w:16}\n",
        "Server=tcp:sql.example.net,1433;Database=app;User Id=sa;Password={w:16};Encrypt=true;\n",
        "host=db.internal user=app password={w:16} dbname=app sslmode=disable\n",
        "rediss://default:{w:40}@eu1-redis.upstash.io:6379\n",
    ),
    "netrc-password": (
        "machine api.example.com\n  login jane\n  password {w:20}\n",
        "machine git.example.com login deploy password {u:24}\n",
    ),
    "command-password": (
        "mysql -u root -p{w:14} shop < dump.sql\n",
        "mysqldump --user=root --password={w:14} shop > dump.sql\n",
        "curl -u admin:{pw:14} https://api.example.com/status\n",
        "curl --user 'admin:{phrase}' https://api.example.com/status\n",
        "sshpass -p '{w:14}' ssh root@10.0.0.4\n",
        "PGPASSWORD={w:14} psql -h db -U app\n",
        "docker login -u acme -p {w:24} registry.example.com\n",
        "redis-cli -h cache -a {w:24} ping\n",
        "openssl rsa -in key.pem -passin pass:{w:16} -out plain.pem\n",
        "wget --user=jane --password='{w:14}' https://example.com/f\n",
        "smbclient //nas/share -U 'jane%{w:12}'\n",
        "ldapsearch -D cn=admin,dc=example -w {w:14} -b dc=example\n",
        "echo '{w:14}' | sudo -S apt update\n",
        "echo 'root:{w:14}' | chpasswd\n",
    ),
    "password-hash": (
        "admin:<<$2b$12${dot:53}>>\n",
        "root:<<$6${dot:16}${dot:86}>>:19000:0:99999:7:::\n",
        "<<$argon2id$v=19$m=65536,t=3,p=4${b:22}${b:43}>>\n",
        "jane:<<$apr1${dot:8}${dot:22}>>\n",
        "<<pbkdf2_sha256$600000${w:22}${b:43}=>>\n",
        "root:<<$y$j9T${dot:22}${dot:43}>>:19500:0:99999:7:::\n",
    ),
}  # fmt: skip
"""Kinds that their place makes: a password in a URL is one, the same word elsewhere is not."""
ARMOURS = (
    "RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "DSA PRIVATE KEY",
)  # fmt: skip
ROUND = (
    ("$ cat key.pem\n", "\n$ \n"),
    ("", "\n"),
    ("key: |\n    ", "\nport: 1\n"),
    ('k = """', '"""\n'),
)
KINDS = tuple(sorted({*FORMS, *LINES, "private-key"}))
GENERIC = {"secret", "password", "authorization-header", "url-password", "cookie", "database-url"}
"""Names that are right for what stands in such a place, whoever issued it."""
ALSO = {
    "secret": {"monitoring-key"},  # DD_API_KEY
    "password": {"command-password"},  # --db-password
    "work-app-token": {"bitbucket-token"},  # one company's, of one form
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    kind: str
    where: str
    """Shape and place, to tell what misses have in common."""
    segments: Segments
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How one sample came through."""

    found: bool
    survived: str
    named: tuple[str, ...]
    is_exact: bool
    """The secrets replaced and not a character beside them."""
    lost: int
    """Characters around the secrets that are gone too."""


def samples(seed: int, kind: str, count: int) -> list[Sample]:
    rng = Random(f"{seed} {kind}")
    return [_sample(rng, kind, at) for at in range(count)]


def judge(sample: Sample, redacted: str, *, run: int = RUN) -> Judgement:
    """A secret survives where so many of its characters are still to be read in a row."""
    found = (each for part in sample.parts for each in _runs(sample, part, redacted, run))
    survived = next(found, "")
    pattern = "".join(
        f".*?{TAG}.*?" if secret else re.escape(text) for text, secret in sample.segments
    )
    is_exact = re.fullmatch(pattern, redacted, re.DOTALL) is not None
    kept = len(re.sub(TAG, "", redacted))
    public = sum(len(text) for text, secret in sample.segments if not secret)
    return Judgement(
        found=not survived,
        survived=survived,
        named=tuple(re.findall(TAG, redacted)),
        is_exact=is_exact,
        lost=max(0, public - kept),
    )


def is_sensible(kind: str, named: tuple[str, ...]) -> bool:
    return any(name in {kind, *GENERIC, *ALSO.get(kind, ())} for name in named)


def _runs(sample: Sample, part: str, redacted: str, length: int) -> list[str]:
    """The runs of a secret still to be read, but for those its surroundings hold by chance."""
    public = "\n".join(text for text, secret in sample.segments if not secret)
    length = max(RUN, min(length, len(part)))
    runs = {part[at : at + length] for at in range(len(part) - length + 1)}
    return sorted(run for run in runs if run in redacted and run not in public)


def _sample(rng: Random, kind: str, at: int) -> Sample:
    if kind == "private-key":
        return _armoured(rng, kind)
    lines = LINES.get(kind, ())
    if lines and (kind not in FORMS or at % 4 == 0):
        return _line(rng, kind, rng.choice(lines))
    return _placed(rng, kind, FORMS[kind])


def _placed(rng: Random, kind: str, form: Form) -> Sample:
    template = rng.choice((*form.templates, *form.named))
    first, second = fill(rng, template), fill(rng, template)
    places = NAMED if template in form.named or rng.random() < 0.5 else BARE
    place = rng.choice(places)
    segments = put(place, rng.choice(form.names), first.text, second.text)
    held = [first.parts, second.parts if any(t == second.text for t, _ in segments) else ()]
    return Sample(
        kind=kind,
        where=f"{template} in {place}",
        segments=wrap(rng, segments),
        parts=tuple(part for parts in held for part in parts),
    )


def _line(rng: Random, kind: str, line: str) -> Sample:
    """Between << and >> stands what may go as a whole; else each hole is a secret of its own."""
    bounds = re.compile("<<(.*?)>>" if "<<" in line else f"({HOLE.pattern})")
    segments: Segments = []
    parts: list[str] = []
    end = 0
    for held in bounds.finditer(line):
        token = fill(rng, held[1])
        segments += [(line[end : held.start()], False), (token.text, True)]
        parts += token.parts
        end = held.end()
    segments = [*segments, (line[end:], False)]
    return Sample(kind=kind, where=line, segments=wrap(rng, segments), parts=tuple(parts))


def _armoured(rng: Random, kind: str) -> Sample:
    label = rng.choice(ARMOURS)
    width = 70 if "OPENSSH" in label else 64
    rows = [fill(rng, f"{{b:{width}}}").text for _ in range(rng.randrange(3, 27))]
    rows.append(fill(rng, "{b:30}").text + "==")
    head = "\n" if "PGP" in label else ""
    if rng.random() < 0.2 and label == "RSA PRIVATE KEY":
        head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
    indent = rng.choice(["", "", "    "])
    block = f"-----BEGIN {label}-----\n{head}" + "\n".join(rows) + f"\n-----END {label}-----"
    block = block.replace("\n", "\n" + indent)
    before, after = rng.choice(ROUND)
    segments = wrap(rng, [(before, False), (block, True), (after, False)])
    return Sample(kind=kind, where=label, segments=segments, parts=tuple(rows))
