"""Bytes of state files as nobody would save them."""

import io
import json
import zipfile

from baserate.state import SCHEMA, dumps


def archive_of(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("_", "."), text)
    return buffer.getvalue()


def state_file(**changes):
    return archive_of(manifest_json=json.dumps({"format": "baserate", "schema": SCHEMA, "version": "9.0", **changes}))


def saved_object(name, **params):
    return {"$class": name, "layout": 1, "params": params, "state": {}}


def edited(obj, change):
    """The bytes of an object, its manifest changed by hand."""
    data = io.BytesIO(dumps(obj))
    rewritten = io.BytesIO()
    with zipfile.ZipFile(data) as old, zipfile.ZipFile(rewritten, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                change(manifest["object"])
                content = json.dumps(manifest)
            new.writestr(name, content)
    return rewritten.getvalue()
