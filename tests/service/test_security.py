"""Keys, scopes, sites and rates: who may do what."""

import re

import pytest

from baserate.service.keys import SCOPES, Keys, create_key
from baserate.service.security import needed_scope
from tests.service.served import adapt, body, in_loop, made, outputs, serving

BATCH = outputs(5, 1)[0]


async def key(client, scope):
    name, secret = await create_key(client.app.store, scope)
    client.app.keys._read_at = -1e9  # read them now, not within a second
    return {"authorization": f"Bearer {secret}"}, name


@pytest.mark.parametrize("host", ["localhost", "localhost:8787", "127.0.0.1:9", "[::1]:8787"])
@in_loop
async def test_without_keys_this_machine_is_trusted_by_its_names(tmp_path, host):
    async with serving(tmp_path) as client:
        assert (await client.get("/v1/streams", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8787", "localhost.evil.example", "", "[", "127.0.0.1.nip.io"]
)
@in_loop
async def test_other_names_are_refused(tmp_path, host):
    async with serving(tmp_path) as client:
        assert (await client.get("/v1/streams", headers={"host": host})).status_code == 403
        assert (await client.get("/", headers={"host": host})).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    ],
)
@in_loop
async def test_requests_of_other_sites_are_refused(tmp_path, headers):
    async with serving(tmp_path) as client:
        assert (await client.get("/v1/streams", headers=headers)).status_code == 403
        assert (await client.put("/v1/streams/x", json=body(), headers=headers)).status_code == 403
        assert (await client.get("/v1/streams")).json() == {"streams": []}


@in_loop
async def test_our_own_pages_and_links_to_us_are_not(tmp_path):
    async with serving(tmp_path) as client:
        own = {"origin": "http://localhost:8787", "sec-fetch-site": "same-origin"}
        assert (await client.get("/v1/streams", headers=own)).status_code == 200
        link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
        assert (await client.get("/", headers=link)).status_code == 200
        assert (await client.post("/v1/streams/x/adapt", json={}, headers=link)).status_code == 403


@in_loop
async def test_forms_of_other_sites_cannot_post(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            sent = await client.post(
                "/v1/streams/mail/adapt", content=b'{"proba": [[1, 0, 0]]}', headers={"content-type": kind}
            )
            assert sent.status_code == 415


@in_loop
async def test_once_there_is_a_key_one_is_needed(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        admin, name = await key(client, "admin")
        for path in ("/v1/streams", "/v1/streams/mail", "/v1/streams/nothing", "/metrics", "/v2/models/mail"):
            assert (await client.get(path)).status_code == 401
            assert (await client.get(path, headers={"authorization": "Bearer br_wrong"})).status_code == 401
            assert (await client.get(path, headers={"authorization": "Basic " + "a" * 50})).status_code == 401
            assert (await client.get(path, headers=admin)).status_code in (200, 404)
        assert "www-authenticate" in (await client.get("/v1/streams")).headers
        for path in ("/healthz", "/readyz", "/v2/health/live", "/openapi.json", "/"):
            assert (await client.get(path)).status_code == 200
        await client.app.store.remove_key(name)
        client.app.keys._read_at = -1e9
        assert (await client.get("/v1/streams")).status_code == 401  # to revoke the last key opens nothing
        other, _ = await key(client, "read")
        assert (await client.get("/v1/streams", headers=admin)).status_code == 401
        assert (await client.get("/v1/streams", headers=other)).status_code == 200


CALLS = {
    "read": [("GET", "/v1/streams"), ("GET", "/v1/streams/mail"), ("GET", "/v1/streams/mail/history")],
    "adapt": [
        ("POST", "/v1/streams/mail/adapt"),
        ("POST", "/v1/streams/mail/labels"),
        ("POST", "/v2/models/mail/infer"),
    ],
    "admin": [
        ("PUT", "/v1/streams/mail"),
        ("PATCH", "/v1/streams/mail"),
        ("DELETE", "/v1/streams/mail/samples/a"),
        ("DELETE", "/v1/streams/mail"),
    ],
}


@in_loop
async def test_a_key_may_do_what_its_scope_says(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        for scope in SCOPES:
            headers, _ = await key(client, scope)
            for needed in SCOPES:
                for method, path in CALLS[needed]:
                    if SCOPES.index(scope) < SCOPES.index(needed):
                        answer = await client.request(method, path, headers=headers, json={})
                        assert answer.status_code == 403
                        assert f"the scope {needed}" in answer.json()["error"]
                    elif method != "DELETE":
                        answer = await client.request(method, path, headers=headers, json={})
                        assert answer.status_code in (200, 422)


def test_every_route_needs_a_scope():
    from baserate.service.app import ROUTES

    public = {"/healthz", "/readyz", "/openapi.json", "/v2/health/live", "/v2/health/ready", "/login", "/logout"}
    for route in ROUTES:
        for method in route.methods:
            assert (needed_scope(method, route.path) is None) == (route.path in public | {"/{path:path}"}), route.path


@in_loop
async def test_keys_are_hashed_at_rest(tmp_path):
    async with serving(tmp_path) as client:
        headers, _ = await key(client, "adapt")
    secret = headers["authorization"].split()[1].encode()
    assert len(secret) > 40
    assert all(secret not in path.read_bytes() for path in tmp_path.iterdir())


@in_loop
async def test_a_login_lasts_until_its_end_or_its_keys(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        assert (await client.post("/login", json={"key": "br_none"})).status_code == 401
        headers, name = await key(client, "read")
        assert (await client.post("/login", json={"key": "br_none"})).status_code == 401
        secret = headers["authorization"].split()[1]
        answer = await client.post("/login", json={"key": secret})
        assert answer.json() == {"name": name, "scope": "read"}
        told = answer.headers["set-cookie"]
        assert all(part in told for part in ("HttpOnly", "SameSite=Strict", "Path=/"))
        assert secret not in told
        client.cookies.clear()
        cookie = {"cookie": told.split(";")[0]}
        assert (await client.get("/v1/streams", headers=cookie)).status_code == 200
        assert (await adapt(client, BATCH)).status_code == 401
        assert (await client.get("/v1/session", headers=cookie)).json() == {
            "name": name,
            "scope": "read",
            "open": False,
            "ready": True,
        }
        value = told.split(";")[0]
        for forged in (
            value[:-1] + ("0" if value[-1] != "0" else "1"),
            re.sub(r"~\d+~", "~99999999999~", value),
            "baserate=",
        ):
            assert (await client.get("/v1/streams", headers={"cookie": forged})).status_code == 401
        short = Keys(client.app.store, -10.0)
        await short.refresh()
        old = short.cookie(short.find(secret))
        assert (await client.get("/v1/streams", headers={"cookie": f"baserate={old}"})).status_code == 401
        await client.app.store.remove_key(name)
        await key(client, "admin")
        assert (await client.get("/v1/streams", headers=cookie)).status_code == 401


@in_loop
async def test_a_login_of_another_key_of_the_same_name_is_not_revived(tmp_path):
    async with serving(tmp_path) as client:
        _, first = await create_key(client.app.store, "read", "me")
        client.app.keys._read_at = -1e9
        cookie = (await client.post("/login", json={"key": first})).headers["set-cookie"].split(";")[0]
        await client.app.store.remove_key("me")
        await create_key(client.app.store, "admin", "me")
        client.app.keys._read_at = -1e9
        client.cookies.clear()
        assert (await client.get("/v1/streams", headers={"cookie": cookie})).status_code == 401


@in_loop
async def test_each_key_has_a_rate(tmp_path):
    async with serving(tmp_path, rate=2.0) as client:
        await made(client)
        for _ in range(20):
            assert (await client.get("/v1/streams")).status_code == 200  # no key, no limit
        one, _ = await key(client, "read")
        other, _ = await key(client, "read")
        statuses = [(await client.get("/v1/streams", headers=one)).status_code for _ in range(8)]
        assert statuses[:4] == [200] * 4
        assert statuses[-1] == 429
        assert (await client.get("/v1/streams", headers=other)).status_code == 200


@in_loop
async def test_pages_may_load_nothing_from_elsewhere(tmp_path):
    async with serving(tmp_path) as client:
        for path in ("/", "/v1/streams", "/nothing"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "http" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/..%2f..%2fapp.py", "/%2e%2e/app.py", "//etc/passwd", "/dashboard/index.html", "/app.py"],
)
@in_loop
async def test_no_path_reaches_the_file_system(tmp_path, path):
    async with serving(tmp_path) as client:
        assert (await client.get(path)).status_code in (400, 404)


@pytest.mark.parametrize("name", ["..", ".hidden", "a" * 101, "a b", "a%00", "ä", "-a", "a\n"])
@in_loop
async def test_names_are_plain(tmp_path, name):
    async with serving(tmp_path) as client:
        from urllib.parse import quote

        answer = await client.put(f"/v1/streams/{quote(name, safe='')}", json=body())
        assert answer.status_code in (404, 405, 422)
        assert (await client.get("/v1/streams")).json() == {"streams": []}


@in_loop
async def test_a_server_has_the_names_it_is_given(tmp_path):
    async with serving(tmp_path, hosts=("model.example",)) as client:
        for host, status in (("model.example", 200), ("localhost", 200), ("other.example", 403)):
            assert (await client.get("/v1/streams", headers={"host": host})).status_code == status
