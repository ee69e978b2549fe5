"""A PostgreSQL server of our own, in a folder of its own, as another user if we are root."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .process import free_port


def programs():
    """The folder with PostgreSQL's programs, or None."""
    found = [str(path.parent) for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    here = shutil.which("initdb")
    return max(found, default=None) or (str(Path(here).parent) if here else None)


class Postgres:
    """A server in a folder, which can be stopped and started again under load."""

    def __init__(self):
        self.folder, self.port = Path(tempfile.mkdtemp(prefix="baserate-postgres-")), free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._bin = programs()

    def _run(self, *words):
        # Root is refused by PostgreSQL.
        other = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        subprocess.run([*other, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, cwd="/")

    def create(self):
        """Make the database, and start the server."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
        self._run(f"{self._bin}/initdb", "-D", str(self.folder / "pg"), "-U", "postgres", "-A", "trust", "-E", "UTF8")
        return self.start()

    def start(self):
        """Start the server."""
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=60"
        self._run(
            f"{self._bin}/pg_ctl", "-D", str(self.folder / "pg"), "-l", str(self.folder / "log"), "-o", settings, "-w",
            "start",
        )  # fmt: skip
        return self

    def stop(self, how="immediate"):
        """Stop it, by default as a crash would."""
        self._run(f"{self._bin}/pg_ctl", "-D", str(self.folder / "pg"), "-m", how, "-w", "stop")

    def remove(self):
        """Stop it, and delete everything."""
        self.stop()
        shutil.rmtree(self.folder)
