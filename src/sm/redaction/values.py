"""Whether a value that stands where a secret would be is one.

Source code is full of ``password = get_password()`` and ``token: "next"``. What decides is the
value itself: whether a person would choose it, or a machine roll it.
"""

import base64
import binascii
import math
import re
from collections import Counter

PLACEHOLDER = b"[redacted:"

_STAND_IN = re.compile(
    rb"(?i)\A(?:x{3,}|\*(?:\*|\Z)|\.{3}|<|\$\{|\$\(|%[({]|\{\{|\{[a-z_]*\}|#\{|@[a-z]+@|arn:"
    rb"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])"
    rb"|\A(?:\$[a-z_]\w*|%[sd])\Z|change.?me|your[-_. ]?|example|placeholder|dummy|foobar"
    rb"|redacted|xxxx|\.\.\.|0123456|12345678|abcdef"
)
_WORD = (
    rb"(?:_*[a-z]+[0-9]{0,3}(?:[_-][a-z]+[0-9]{0,3}|_[0-9]{1,4})*"
    rb"|[A-Z]?[a-z]+(?:[A-Z]{1,3}[a-z]+)*[0-9]{0,2}"
    rb"|[A-Z]+(?:_[A-Z0-9]+)*[0-9]{0,3})"
)
_EXPRESSION = re.compile(
    rb"\A(?:" + _WORD + rb"(?:(?:\.|->|::|\[)[\"']?" + _WORD + rb"[\"'\]]{0,2})*"
    rb"|[A-Za-z_]\w*(?:\.\w*[a-z]{4}\w*)+|[0-9.,_-]+|0x[0-9a-fA-F]+"
    rb"|/[\w./-]*|(?:\.\.?|~)/.*|[a-z]+://.*)\Z"
)
_PORT_OF_MANY = re.compile(rb"[0-9]{2,5},")
_SIGNED = (b"AWS4-HMAC", b"Credential=")
"""What is sent to be checked, and tells nobody the key."""
_NOTHING = re.compile(rb"(?i)true|false|none|null|undefined|password|secret")
# Shorter ones are hashes and ids more often than keys.
_HEX = re.compile(rb"[0-9a-f]+")
# Two signs at least that are rare in words and code, and no brackets, as patterns have them.
_SIGNS = re.compile(rb"[^()\[\]{}|]*[!#%^&*+=?@~][^()\[\]{}|]*[!#%^&*+=?@~][^()\[\]{}|]*")
_LETTER, _DIGIT = re.compile(rb"[A-Za-z]"), re.compile(rb"[0-9]")
_PAIR = re.compile(rb"(?=([a-z]{2}))")
_COMMON = (
    b"th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se"
    b" le sa si ar ve ra ld ur ro ri io ic ne me li co ta ce el ma di om la us il ch em ec pe tr ec"
    b" ss ut ac ho ke ct ly ot ge so no na mo lo wi pr ad ee ie ns un ni am ca po ul pa ai id ay ol"
    b" fo ow vi ev bl ir op sp av ap fi wh we ag pl ig mi tu su tt os rs if ey sh ab ck rd rt ls tp"
    b" ok py up ub qu ke ex gi fa fr bu cl cr da do dr ef ep gr im iv ki mp nc ob od pi pt sc sk ue"
    b" ui um va ve wo xt ys rc fe ff ga go gu ht ia ib ip ja js ju ks lt nk ov rm rn ru tc ty ug ws"
)
"""Two letters as they follow each other in words; rolled letters do so a quarter of the time."""
_common = frozenset(_COMMON.split())
_FEWEST_PAIRS = 8
OF_WORDS, OF_NAMES = 0.52, 0.34
"""So many of the pairs make words; of the abbreviations in code, fewer are enough."""
_SWITCH = re.compile(rb"[a-z][A-Z]|[A-Z]{2}[a-z]|[0-9][A-Za-z]|[A-Za-z][0-9]")


def anything(value: bytes) -> int:
    """Whatever it is, as long as it stands for itself."""
    return 0 if _STAND_IN.search(value) or _NOTHING.fullmatch(value) else len(value)


def given(value: bytes) -> int:
    """Where nothing but a password can stand: anything that is not a word or a stand-in."""
    size = _until_next_parameter(value)
    value = value[:size]
    if size < 6 or _STAND_IN.search(value) or not _LETTER.search(value):
        return 0
    if _DIGIT.search(value) or _switches(value) >= 3:
        return size
    if _SIGNS.fullmatch(value):
        return size
    is_word = _EXPRESSION.match(value) and not _is_rolled(value)
    return size if _switches(value) == 2 and not is_word else 0


def in_address(value: bytes) -> int:
    """Between ``user:`` and ``@host``: a capital within a word is enough."""
    if _PORT_OF_MANY.match(value):
        return 0
    is_mixed = len(value) >= 8 and re.search(rb"[a-z].*[A-Z]|[A-Z]{2}.*[a-z]", value)
    return given(value) or (len(value) if is_mixed and not _STAND_IN.search(value) else 0)


def password(value: bytes) -> int:
    """As ``given``, where there may be a piece of code as well."""
    is_code = _EXPRESSION.match(value) and not _is_rolled(value, OF_NAMES)
    return 0 if is_code else given(value)


def strong(value: bytes) -> int:
    """As ``given``, where little else speaks for it: both cases and a digit."""
    cases = (rb"[a-z]", rb"[A-Z]", rb"[0-9]")
    return given(value) if all(re.search(case, value) for case in cases) else 0


def random(value: bytes) -> int:
    """Rolled by a machine: long, of many characters, not made of words."""
    if len(value) < 16:
        return 0
    size = _until_next_parameter(value)
    value = value[:size]
    if size < 16:
        return 0
    digits = len(_DIGIT.findall(value))
    if digits == size or (size < 24 and _HEX.fullmatch(value)):
        return 0
    if digits == 0 and _switches(value) < size / 5:
        return 0
    if (digits < 0.1 * size or _EXPRESSION.match(value)) and not (
        _is_rolled(value) or _switches(value) > size / 3
    ):
        return 0
    # Last, for it takes longest.
    return size if entropy(value) >= 3 and not _STAND_IN.search(value) else 0


def mixed(value: bytes) -> int:
    """As ``random``, where little else speaks for it."""
    return min(random(value), strong(value))


def is_login(value: bytes) -> int:
    """``user:password`` in base64."""
    try:
        plain = base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return 0
    return len(value) if re.fullmatch(rb"[!-9;-~]+:[ -~]*", plain) else 0


def cookies(value: bytes) -> int:
    """Some cookie in the header is more than a preference."""
    pairs = (pair.partition(b"=")[2].strip() for pair in value.split(b";"))
    return len(value) if any(random(pair) for pair in pairs) else 0


def credential(value: bytes) -> int:
    """What stands behind Bearer, Basic or Token."""
    if b"://" in value or value.startswith(_SIGNED) or _EXPRESSION.match(value):
        return 0
    return given(value) if len(value) >= 16 else is_login(value)


def key_block(value: bytes) -> int:
    """More than the lines around a key, and not a row of one letter."""
    body = re.sub(rb"-----[^-]*-----|\\+[nrt]|\s", b"", value)
    return len(value) if len(body) >= 40 and len(set(body)) >= 16 else 0


def dense(value: bytes) -> int:
    """Not a piece of a picture or a program in base64, which is mostly of the letter A."""
    return len(value) if entropy(value) >= 4.3 else 0


def entropy(value: bytes) -> float:
    """Bits per character."""
    size = len(value)
    return math.log2(size) - sum(n * math.log2(n) for n in Counter(value).values() if n > 1) / size


def _switches(value: bytes) -> int:
    """How often capitals, small letters and digits take turns, as in no word."""
    return len(_SWITCH.findall(value))


def _is_rolled(value: bytes, of_words: float = OF_WORDS) -> bool:
    """Its letters do not follow each other as they do in words."""
    pairs = _PAIR.findall(value.lower())
    common = sum(pair in _common for pair in pairs)
    return len(pairs) >= _FEWEST_PAIRS and common < of_words * len(pairs)


def _until_next_parameter(value: bytes) -> int:
    """Without ``&name=…`` of the address it stands in, and the full stop of its sentence."""
    found = re.search(rb"&(?:amp;)?[a-z_]{2,}=|[.,;:)]+\Z", value)
    return found.start() if found else len(value)
