"""API keys: made, checked and revoked. Only a hash of a key is kept.

A key has 256 random bits, so that guessing is hopeless whatever the hash costs; a slow one such as scrypt, made for
passwords that people choose, would only slow down each request.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from typing import NamedTuple

from baserate.service.problems import InvalidError
from baserate.service.store import KeyStore, Store, StoredKey

SCOPES = ("read", "adapt", "admin")
"""The scopes of keys; each scope includes those before it."""
FRESH = 1.0
"""Seconds after which keys are read again: a revoked one is refused by then."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,60}")
_NOBODY = StoredKey("", hashlib.blake2b(b"nobody", digest_size=32).digest(), "", 0.0)


class Caller(NamedTuple):
    """The maker of a request: the name of the key, and its scope."""

    name: str
    scope: str

    def may(self, scope: str) -> bool:
        """Tell whether the scope of the key includes another."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def digest_of(key: str) -> bytes:
    """Return the hash of a key."""
    return hashlib.blake2b(key.encode(), digest_size=32, person=b"baserate key").digest()


async def create_key(store: Store, scope: str, name: str | None = None) -> tuple[str, str]:
    """Make a key, and return its name and the key itself, which nobody can tell later."""
    if scope not in SCOPES:
        raise InvalidError(f"the scope is {scope!r}; expected one of: {', '.join(SCOPES)}.")
    name = name or f"{scope}-{secrets.token_hex(3)}"
    if not _NAME.fullmatch(name):
        raise InvalidError("a key's name has 1 to 60 letters, digits, dots, underscores and hyphens.")
    if any(key.name == name and key.scope in SCOPES for key in await store.keys()):
        raise InvalidError(f"there is a key named {name!r}; revoke it first, or take another name.")
    secret = f"br_{secrets.token_urlsafe(32)}"
    await store.add_key(StoredKey(name, digest_of(secret), scope, time.time()))
    return name, secret


class Keys:
    """The keys of a server, read from the store again each second.

    Parameters
    ----------
    store : KeyStore
    session_seconds : float
        How long a login lasts.
    """

    def __init__(self, store: KeyStore, session_seconds: float) -> None:
        self._store, self._session_seconds = store, session_seconds
        self._found: list[StoredKey] = []
        self._ever = False
        self._read_at = -FRESH
        self._secret = b""
        self._reading = asyncio.Lock()

    async def refresh(self) -> bool:
        """Read the keys if it is time; True if there was ever one: to revoke the last opens nothing."""
        if time.monotonic() - self._read_at >= FRESH:
            async with self._reading:
                if time.monotonic() - self._read_at >= FRESH:
                    everyone = await self._store.keys()
                    self._ever = bool(everyone)
                    self._found = [key for key in everyone if key.scope in SCOPES]
                    self._secret = self._secret or await self._store.secret()
                    self._read_at = time.monotonic()
        return self._ever

    def find(self, key: str) -> Caller | None:
        """Return whose key it is. Takes the same time whether one is found or not."""
        digest, found = digest_of(key), None
        for known in self._found or [_NOBODY]:
            if hmac.compare_digest(known.digest, digest):
                found = Caller(known.name, known.scope)
        return found

    def cookie(self, caller: Caller) -> str:
        """Return a cookie for a caller, signed, with the time when it ends."""
        told = f"{caller.name}~{int(time.time() + self._session_seconds)}"
        return f"{told}~{self._sign(told)}"

    def find_cookie(self, cookie: str) -> Caller | None:
        """Return whose cookie it is, if it is one of ours, not too old, and the key has not been revoked."""
        told, _, signature = cookie.rpartition("~")
        right = hmac.compare_digest(signature.encode(), self._sign(told).encode())
        name, _, until = told.rpartition("~")
        if not right or not until.isdecimal() or int(until) < time.time():
            return None
        return next((Caller(key.name, key.scope) for key in self._found if key.name == name), None)

    def _sign(self, told: str) -> str:
        # A key's hash is part of it, so that a new key of the same name does not revive old cookies.
        name = told.rpartition("~")[0]
        digest = next((key.digest for key in self._found if key.name == name), _NOBODY.digest)
        return hmac.new(self._secret + digest, told.encode(), hashlib.sha256).hexdigest()
