"""`sm redact` against secrets made without knowledge of its rules, and against plain sources."""

import json
import os
import resource
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.kit.foreign_secrets import KINDS, Judgement, Sample, is_sensible, judge, samples
from tests.kit.foreign_tokens import fill
from tests.kit.sm import SM, Sm
from tests.prove.ledger import Verdict

RECALL, FALSE_PER_MB, MB_PER_SECOND = 0.97, 1.0, 30.0
MB = 1_000_000
CORPUS = 70 * MB
ENDINGS = {
    ".py", ".js", ".mjs", ".json", ".md", ".txt", ".rst", ".log", ".ts", ".html", ".map", ".css",
    ".h", ".pl", ".pm", ".yml", ".yaml", ".toml", ".sh", ".c", ".pyi", ".xml", "",
}  # fmt: skip
LOOKALIKES = (
    '      "integrity": "sha512-{base64:64}",',
    '      "resolved": "https://npm.pkg.github.com/{a:8}/-/{a:8}-{d:1}.{d:1}.0.tgz#{x:40}",',
    "commit {x:40}\nAuthor: Jane Doe <jane@example.com>",
    "{x:40} refs/heads/{a:12}",
    "index {x:10}..{x:10} 100644",
    '{"uuid":"{uuid}","parentUuid":"{uuid}","requestId":"req_{w:24}","id":"toolu_{w:24}"}',
    "![logo](data:image/png;base64,iVBORw0KGgo{b:600})",
    "app@sha256:{x:64}",
    "golang.org/x/net v0.{d:2}.0 h1:{base64:32}",
    'checksum = "{x:64}"',
    "    --hash=sha256:{x:64}",
    'ETag: "{x:32}"',
    "md5sum {x:32}  file-{d:4}.bin",
    "2026-03-01T10:22:31.{d:6}Z INFO request id={uuid} trace={x:32} span={x:16} took={d:3}ms",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b:43} jane@host",
    "-----BEGIN CERTIFICATE-----\n{b:64}\n{b:64}\n-----END CERTIFICATE-----",
    '<script src="/static/app.{x:20}.js" integrity="sha384-{base64:48}"></script>',
    '"signature":"{base64:300}"',
    'const t=e=>n(e.token),{l:2}=function({l:1}){return {l:3}.password},{l:2}="{a:10}";',
    "password = getpass.getpass('Password: ')",
    'token = response.json()["access_token_{d:2}"]',
    "api_key: str | None = None,",
    "PASSWORD=${DB_PASSWORD_{d:2}}",
    "password: ${{ secrets.DEPLOY_PASSWORD_{d:2} }}",
    "const apiKey = process.env.API_KEY_{d:2};",
    'api_key="<your-api-key-{d:2}>"',
    "secretKeyRef: {name: app-{a:6}, key: password}",
    'public_key = "{base64:32}"',
    "cache_key = f'user:{x:16}:profile'",
    "nonce={x:32}&page={d:3}",
    "next_page_token={base64:24}",
    "tokens: {d:6}, max_tokens: {d:4}, token_count={d:5}",
    "def validate_token(self, token: Token_{w:8}) -> bool:",
    "primary_key: {uuid}",
    '"sort_key": "{a:26}", "partition_key": "{uuid}"',
)
SMALL = 100_000
"""What is left of a size when it is not worth looking for a file that fits."""
BOUNDARY = "\n=#=#= {} =#=#=\n"


@dataclass(slots=True)
class Recall:
    """Of one kind."""

    count: int = 0
    found: int = 0
    named: int = 0
    exact: int = 0
    misses: list[tuple[Sample, Judgement, str]] = field(default_factory=list)
    clumsy: list[tuple[Sample, Judgement, str]] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.found / self.count

    def add(self, sample: Sample, judged: Judgement, came: str) -> None:
        is_named = judged.found and is_sensible(sample.kind, judged.named)
        self.count += 1
        self.found += judged.found
        self.named += is_named
        self.exact += judged.is_exact
        if not judged.found:
            self.misses.append((sample, judged, came))
        elif not judged.is_exact or not is_named:
            self.clumsy.append((sample, judged, came))


def redacted(sm: Sm, text: bytes, *arguments: str) -> bytes:
    done = subprocess.run(
        [str(SM), "redact", *arguments], input=text, env=sm.environment, capture_output=True,
        check=True,
    )  # fmt: skip
    return done.stdout


def recalls(sm: Sm, *, seed: int, count: int, kinds: tuple[str, ...] = KINDS) -> dict[str, Recall]:
    """Of each kind, all in one text as a person would send it through."""
    planted = [sample for kind in kinds for sample in samples(seed, kind, count)]
    text = "".join(sample.text + BOUNDARY.format(at) for at, sample in enumerate(planted))
    rest = redacted(sm, text.encode()).decode()
    results = {kind: Recall() for kind in kinds}
    for at, sample in enumerate(planted):
        came, boundary, rest = rest.partition(BOUNDARY.format(at))
        assert boundary, f"{sample.kind}: what follows the secret was swallowed: {sample.text!r}"
        results[sample.kind].add(sample, judge(sample, came), came)
    return results


def roots() -> list[Path]:
    """Sources, manuals and logs: the first two any machine has, of the others what there is."""
    named = [
        sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "/usr/lib/node_modules",
        "/var/log", "/usr/share/doc", "/usr/share/perl", "/usr/include",
    ]  # fmt: skip
    return [path for name in dict.fromkeys(named) if (path := Path(name)).is_dir()]


def plain(root: Path, size: int) -> Iterator[bytes]:
    """Whole text files under a folder, up to a size in all."""
    for at, folders, names in os.walk(root):
        folders.sort()
        for path in (Path(at) / name for name in sorted(names)):
            text = _text(path) if path.suffix in ENDINGS else b""
            if len(text) <= size:
                yield text
                size -= len(text)
            elif size < SMALL:
                return


def _text(path: Path) -> bytes:
    try:
        text = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except OSError:
        return b""
    return b"" if b"\x00" in text or len(text) > 4 * MB else text


def lookalikes(seed: int, size: int) -> bytes:
    """Hashes, ids, pictures and keys' names: random as secrets are, and none."""
    rng = Random(seed)
    lines: list[str] = []
    length = 0
    while length < size:
        line = fill(rng, rng.choice(LOOKALIKES)).text
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines).encode()


def corpus(size: int = CORPUS) -> bytes:
    there = roots()
    pieces = [piece for root in there for piece in plain(root, size // len(there))]
    return b"\n".join([*pieces, lookalikes(1, size // 15)])


def hits(sm: Sm, text: bytes) -> tuple[Counter[str], float]:
    """How many of each kind, and the CPU seconds of one pass."""
    before = _cpu()
    counts = Counter(json.loads(redacted(sm, text, "--json")))
    return counts, _cpu() - before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def foreign_secrets(
    sm: Sm, *, seed: int = 1, count: int = 100, size: int = CORPUS
) -> tuple[Verdict, str]:
    """Three goals: what is found, what is found wrongly, and how fast. One short is one lost."""
    results = recalls(sm, seed=seed, count=count)
    for kind, result in results.items():
        print(
            f"  {kind}: {result.share:.0%} found, {result.named / count:.0%} named well,"
            f" {result.exact / count:.0%} with all around them kept",
            flush=True,
        )
        for sample, judged, _ in result.misses[:2]:
            print(f"    {judged.survived!r} survives in {sample.text[:300]!r}", flush=True)
    text = corpus(size)
    counts, seconds = hits(sm, text)
    print(f"  hits in {len(text) / MB:.0f} MB: {dict(counts)}", flush=True)
    total = sum(result.count for result in results.values())
    share = sum(result.found for result in results.values()) / total
    rate, speed = counts.total() / (len(text) / MB), len(text) / MB / seconds
    reached = (share >= RECALL) + (rate <= FALSE_PER_MB) + (speed >= MB_PER_SECOND)
    words = (
        f"{share:.1%} of {total} secrets of {len(KINDS)} kinds;"
        f" {rate:.2f} hits per MB of sources; {speed:.0f} MB per CPU second"
    )
    return Verdict(sent=3, once=reached, lost=3 - reached), words


def main() -> int:
    """Print every miss and every clumsy replacement, for whoever mends the rules."""
    from tests.kit.sm import sm_home

    seeds = [int(word) for word in sys.argv[1:]] or [1]
    with sm_home() as sm:
        for seed in seeds:
            for kind, result in recalls(sm, seed=seed, count=100).items():
                print(f"## {kind} {result.found}/{result.count} named {result.named}"
                      f" exact {result.exact}")  # fmt: skip
                _tell(result)
    return 0


def _tell(result: Recall) -> None:
    for word, those in (("MISS", result.misses), ("CLUMSY", result.clumsy)):
        for sample, judged, came in those:
            print(f"{word} {judged.survived!r} {judged.named} -{judged.lost}"
                  f"\n   {sample.text[-400:]!r}\n   {came[-400:]!r}")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
