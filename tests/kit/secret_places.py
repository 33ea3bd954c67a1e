"""Made-up passwords in the places people and programs put them."""

import base64

from tests.kit.secret_pieces import (
    ALNUM,
    B64,
    HEX,
    HOSTS,
    URLSAFE,
    USERS,
    Made,
    Random,
    assigned,
    url_safe,
    xml,
)


def authorization_header(r: Random) -> Made:
    login = base64.b64encode(f"{r.choice(USERS)}:{r.password()}".encode()).decode()
    token = r.choice((r.of(ALNUM, 32), r.of(HEX, 40), r.of(URLSAFE, 64), r.uuid()))
    secret, line = r.choice(
        (
            (token, f"Authorization: Bearer {token}"),
            (login, f"Authorization: Basic {login}"),
            (token, f"authorization: token {token}"),
            (token, f"curl -H 'Authorization: Bearer {token}' https://api.example.com/v1/me"),
            (token, f'curl -H "X-Api-Key: {token}" https://api.example.com/v1/me'),
            (token, f'headers = {{"Authorization": "Bearer {token}"}}'),
            (token, f"x-auth-token: {token}"),
            (login, f"Proxy-Authorization: Basic {login}"),
        )
    )
    return Made(secret=secret, snippet=line)


def cookie(r: Random) -> Made:
    value = r.choice((r.of(ALNUM, 32), r.of(HEX, 64), r.of(URLSAFE, 43)))
    name = r.choice(
        ("sessionid", "session", "PHPSESSID", "JSESSIONID", "connect.sid", "auth_token")
    )
    snippets = (
        f"Cookie: theme=dark; {name}={value}",
        f"Set-Cookie: {name}={value}; Path=/; HttpOnly; Secure",
        f"cookie: {name}={value}; lang=en",
        f"curl -H 'Cookie: {name}={value}' https://example.com/",
        f"curl -b '{name}={value}' https://example.com/account",
    )
    return Made(secret=value, snippet=r.choice(snippets))


def url_password(r: Random) -> Made:
    password = r.between(ALNUM, 10, 24) if r.random() < 0.6 else url_safe(r.password())
    user, host = r.choice(USERS).partition("@")[0], r.choice(HOSTS)
    url = f"{r.choice(('https', 'http', 'ftp', 'ssh', 'smtp'))}://{user}:{password}@{host}"
    snippets = (
        f"{url}/repo.git",
        f"git clone {url}/team/app.git",
        f'HTTPS_PROXY="{url}:3128"',
        f"fetching {url}/index failed: 403",
        f"[remote]({url}/x)",
    )
    return Made(secret=password, snippet=r.choice(snippets))


def database_url(r: Random) -> Made:
    password = r.between(ALNUM, 10, 24) if r.random() < 0.6 else url_safe(r.password())
    user, host = r.choice(USERS).partition("@")[0], r.choice(HOSTS)
    scheme = r.choice(
        ("postgres", "postgresql", "mysql", "mongodb+srv", "redis", "amqp", "postgresql+asyncpg")
    )
    url = f"{scheme}://{user}:{password}@{host}:5432/app"
    plain = r.strong(ALNUM, 16)
    choices = (
        (password, f"DATABASE_URL={url}?sslmode=require"),
        (password, f'engine = create_engine("{url}")'),
        (password, f"psql {url} -c 'select 1'"),
        (password, f"could not connect to {url}: timeout"),
        (password, f"redis://:{password}@{host}:6379/0"),
        (
            plain,
            f"Server=tcp:{host},1433;Database=app;User ID={user};Password={plain};Encrypt=True;",
        ),
        (plain, f"host={host} port=5432 dbname=app user={user} password={plain} sslmode=require"),
        (plain, f"jdbc:mysql://{host}:3306/app?user={user}&password={plain}"),
    )
    secret, snippet = r.choice(choices)
    return Made(secret=secret, snippet=snippet)


def netrc_password(r: Random) -> Made:
    password, host = r.strong(ALNUM, r.randint(10, 24)), r.choice(HOSTS)
    snippets = (
        f"machine {host} login {r.word()} password {password}",
        f"machine {host}\n  login {r.word()}\n  password {password}",
        f"machine {host}\n\tlogin me@example.org\n\tpassword {password}\n\tport 443",
        f"default login anonymous password {password}",
        f"{host}:5432:app:{r.word()}:{password}",
        f"https://{r.word()}:{password}@{host}",
    )
    return Made(secret=password, snippet=r.choice(snippets))


def command_password(r: Random) -> Made:
    password = r.strong(ALNUM + "!#%+-.=@_", r.randint(10, 20))
    user, host = r.choice(USERS).partition("@")[0], r.choice(HOSTS)
    snippets = (
        f"curl -u {user}:{password} https://{host}/status",
        f"curl --user '{user}:{password}' https://{host}/status",
        f"mysql -u {user} -p{password} -h {host} app",
        f"mysqldump --user={user} --password={password} app > app.sql",
        f"sshpass -p '{password}' ssh {user}@{host}",
        f"docker login -u {user} -p {password} {host}",
        f"PGPASSWORD={password} psql -h {host} -U {user} app",
        f"mycli --host {host} --password '{password}'",
        f"redis-cli -h {host} -a {password} ping",
    )
    return Made(secret=password, snippet=r.choice(snippets))


def password_hash(r: Random) -> Made:
    crypt = "./" + ALNUM
    secret = r.choice(
        (
            f"$2b$12${r.of(crypt, 53)}",
            f"$2y$10${r.of(crypt, 53)}",
            f"$6${r.of(crypt, 16)}${r.of(crypt, 86)}",
            f"$5${r.of(crypt, 12)}${r.of(crypt, 43)}",
            f"$argon2id$v=19$m=65536,t=3,p=4${r.of(B64, 22)}${r.of(B64, 43)}",
            f"$y$j9T${r.of(crypt, 22)}${r.of(crypt, 43)}",
        )
    )
    user = r.word()
    snippets = (
        f"{user}:{secret}:19700:0:99999:7:::",
        f'"password_hash": "{secret}"',
        f"INSERT INTO users (name, hash) VALUES ('{user}', '{secret}');",
        f"{user}:{secret}",
        f"hash={secret}",
    )
    return Made(secret=secret, snippet=r.choice(snippets))


def password(r: Random) -> Made:
    secret = r.password()
    if r.random() < 0.2:
        return Made(secret=secret, snippet=f"<password>{xml(secret)}</password>")
    names = ("password", "DB_PASSWORD", "db_password", "passwd", "smtpPassword",
             "POSTGRES_PASSWORD", "ADMIN_PASS", "passphrase")  # fmt: skip
    return Made(secret=secret, snippet=assigned(r, r.choice(names), secret))


def secret(r: Random) -> Made:
    value = r.choice(
        (r.of(HEX, 32), r.of(HEX, 64), r.of(ALNUM, 32), r.of(URLSAFE, 43), r.base64(32), r.uuid())
    )
    names = ("API_KEY", "api_key", "apiKey", "CLIENT_SECRET", "clientSecret", "AUTH_TOKEN",
             "secret", "SECRET_KEY", "JWT_SECRET", "access_token", "ENCRYPTION_KEY",
             "X_INTERNAL_TOKEN", "SIGNING_SECRET", "refreshToken",
             "webhook_secret")  # fmt: skip
    return Made(secret=value, snippet=assigned(r, r.choice(names), value))


KINDS = (
    authorization_header,
    cookie,
    url_password,
    database_url,
    netrc_password,
    command_password,
    password_hash,
    password,
    secret,
)
