"""Which values are secrets: by their looks, and by where they stand."""

import base64

import pytest

from sm.redaction import values

SECRET = b"9fKd02LmQx71VbTz84Rw"


@pytest.mark.parametrize(
    "value",
    [
        b"Tr0ub4dor&3",
        b"Summer-68!",
        b"hunter22",
        b"zbQEpmWTEXJv",
        b"p4ss/w0rd",
        b"*QFnzm0Xh7=ZXJ",
        b"hAewypOIEL",
        b"EmMLivHWqj",
        b"vy*.+s-a?k#-jQb~sx",
    ],
)
def test_passwords_are_given(value: bytes) -> None:
    assert values.given(value) == len(value)


@pytest.mark.parametrize(
    "value",
    [b"changeme1", b"your-password-1", b"${DB_PASS1}", b"<password1>", b"xxxxxxx1", b"secret",
     b"12345678", b"******", b"^(?=.*[A-Z])+$", b"newPasswordAgain",
     b"%(password1)s", b"a1", b"{{ pw1 }}", b"$password1"],
)  # fmt: skip
def test_stand_ins_are_no_passwords(value: bytes) -> None:
    """What documentation writes in place of one."""
    assert values.given(value) == 0


@pytest.mark.parametrize(
    "value",
    [b"self.password1", b"get_password2", b"config.db1.password", b"userPassword2",
     b"PASSWORD_MIN_8", b"0x7fff12ab", b"/run/secrets/db1", b"user->pass1"],
)  # fmt: skip
def test_code_is_no_password(value: bytes) -> None:
    """Without quotes, a name is a name."""
    assert values.password(value) == 0


@pytest.mark.parametrize(
    "value",
    [b"d41d8cd98f00b204e9800998ecf8427e", b"0b7c1d52-91aa-4c3f-9b1e-55d2b0c4a7f3", SECRET,
     b"kzQPwvLMxnBTyrHSdfGJ", b"omcZo0MotvzgdrASBiDqcgYubg", b"s.tmekMHwbzPSLjjQX5gIPwsCj"],
)  # fmt: skip
def test_rolled_values_are_random(value: bytes) -> None:
    assert values.random(value) == len(value)


@pytest.mark.parametrize(
    "value",
    [b"user_profile_settings_v2", b"short1", b"the-quick-brown-fox-2", b"12345678901234567890",
     b"application/json;v=1", b"process.env.API_KEY_12", b"HttpRequestParserOptions2",
     b"aaaaaaaaaaaaaaaa1"],
)  # fmt: skip
def test_words_are_not_random(value: bytes) -> None:
    assert values.random(value) == 0


def test_a_password_ends_with_its_parameter() -> None:
    """In an address, what follows it is somebody else's."""
    assert values.given(b"Zx81-Spectrum&user=me&ssl=1") == len(b"Zx81-Spectrum")
    assert values.given(b"Zx81&Spectrum") == len(b"Zx81&Spectrum")


def test_a_login_is_user_and_password_in_base64() -> None:
    login = base64.b64encode(b"admin:admin")

    assert values.is_login(login) == len(login)
    assert values.is_login(base64.b64encode(b"no colon here")) == 0
    assert values.is_login(b"????") == 0


def test_preferences_are_no_session() -> None:
    """A cookie header counts when one of its values was rolled."""
    assert values.cookies(b"theme=dark; lang=en") == 0
    assert values.cookies(b"theme=dark; sid=" + SECRET) > 0


def test_strong_needs_both_cases_and_a_digit() -> None:
    assert values.strong(b"zx81-spectrum") == 0
    assert values.strong(b"Zx81-Spectrum") > 0


def test_addresses_take_a_capital_for_a_sign() -> None:
    assert values.in_address(b"jmydrtwpPqm") > 0
    assert values.in_address(b"password") == 0


def test_environments_take_anything_but_nothing() -> None:
    assert values.anything(b"nodejs") > 0
    assert values.anything(b"true") == values.anything(b"$OTHER") == 0


def test_credentials_are_tokens_or_logins() -> None:
    assert values.credential(SECRET) > 0
    assert values.credential(base64.b64encode(b"me:you")) > 0
    assert values.credential(b"https://example.com/a1") == 0


def test_a_row_of_one_letter_is_no_key() -> None:
    assert values.key_block(b"-----BEGIN X-----\n" + b"X" * 80 + b"\n-----END X-----") == 0
    assert values.dense(b"EAAA" + b"AAAB" * 15) == 0


def test_entropy_is_bits_per_character() -> None:
    assert values.entropy(b"aaaa") == 0
    assert values.entropy(b"abcd") == 2
