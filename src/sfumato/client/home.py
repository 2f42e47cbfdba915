"""A person's device on disk: one folder with its secret, its ledger and its outbox, which only its owner can read.

Secret and ledger are saved and restored together, in a file that a browser writes and reads alike:

    {"device": 1, "secret": hexadecimal digits, "ledger": the ledger's own JSON}
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from pathlib import Path

from sfumato.client.device import Device
from sfumato.client.ledger import Ledger, durable_writer
from sfumato.client.outbox import Outbox
from sfumato.tables import read_json, write_whole

VERSION = 1
"""The version of the saved file above, the same in ``client/static/page-device.js``; another one is refused."""
SECRET = re.compile("(?:[0-9a-f]{2}){16,512}")
"""16 bytes or more, which nobody guesses; 512 are more than any device makes (32)."""


class Home:
    """A person's device in a folder on disk: its secret, the ledger of its reports, and the queue of those to be sent.

    Nothing is written before it is needed, and the secret is made once.

    ``folder``: where it is; None: where the platform keeps a person's data (`usual_folder`).

    >>> import tempfile
    >>> home = Home(tempfile.mkdtemp())
    >>> home.secret == home.secret, home.ledger.entries
    (True, ())
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = usual_folder() if folder is None else Path(folder)

    @property
    def secret(self) -> bytes:
        """The device's secret, 32 bytes that draw all its noise, read from the folder; where there is none, drawn now.

        ValueError where it is missing beside a ledger: a new secret would not give the remembered reports again.
        """
        file = self.make() / "secret"
        if not file.exists():
            if self.ledger.entries:
                raise ValueError(f"{file}: the secret of this ledger is gone; restore it from where it was saved")
            _write_once(file, secrets.token_hex(32) + "\n")
        return _secret_of(file.read_text(encoding="utf-8", errors="replace").strip(), file.name)

    @property
    def ledger(self) -> Ledger:
        """The ledger of all reports sent so far, read anew from the folder's file each time."""
        return Ledger.open(self.folder / "ledger.json")

    @property
    def device(self) -> Device:
        """The ``Device`` that answers plans with this folder's secret and ledger, both read anew each time."""
        return Device(self.secret, self.ledger)

    @property
    def has_outbox(self) -> bool:
        """Whether there is a queue of reports to be sent (an outbox) in the folder."""
        return (self.folder / "outbox.sqlite").exists()

    def outbox(self, *, insecure: bool = False) -> Outbox:
        """Open the queue of reports that wait to be sent, a file in the folder that is made now where there is none.

        ``insecure``: True: permit to send them to other machines by plain HTTP, which everybody on the way can read.
        """
        return Outbox(self.make() / "outbox.sqlite", insecure=insecure)

    def export(self, path: str | Path) -> None:
        """Save secret and ledger in the file ``path``, as a backup that `restore` reads.

        Whoever has this file and the reports can work out the answers.
        """
        document = {"device": VERSION, "secret": self.secret.hex(), "ledger": json.loads(self.ledger.dumps())}
        write_whole(Path(path), durable_writer(json.dumps(document, ensure_ascii=False, indent=1) + "\n"), mode=0o600)

    def restore(self, path: str | Path) -> None:
        """Replace this device's secret and limit by those in the file that a device saved, and add that file's reports.

        The reports are added to this ledger. ``path``: the file that ``export`` wrote.
        """
        secret, saved = read_saved(path)
        folder, ledger = self.make(), self.ledger
        ledger.entries += tuple(each for each in saved.entries if each not in ledger.entries)
        ledger.receipts += tuple(each for each in saved.receipts if each not in ledger.receipts)
        ledger.limit = saved.limit
        ledger.save()
        write_whole(folder / "secret", durable_writer(secret.hex() + "\n"), mode=0o600)

    def make(self) -> Path:
        """Make the folder where there is none, so that only its owner can read it, and return its path."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder


def read_saved(path: str | Path) -> tuple[bytes, Ledger]:
    """Read (secret, ledger) from the file that a device saved with ``Home.export``; ValueError for other files."""
    file = Path(path)
    try:
        data = read_json(file.read_bytes().decode("utf-8"), "the file")
        if not isinstance(data, dict) or set(data) != {"device", "secret", "ledger"}:
            raise ValueError("not a saved device; it has the keys device, secret and ledger")
        if data["device"] != VERSION:
            raise ValueError(f"a device of version {data['device']!r}; this one reads version {VERSION}")
        return _secret_of(data["secret"], "secret"), Ledger.loads(json.dumps(data["ledger"]))
    except UnicodeDecodeError:
        raise ValueError(f"{file.name}: not a text file in UTF-8; nothing was changed") from None
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}; nothing was changed") from None


def _secret_of(text: object, name: str) -> bytes:
    """Read a secret from a text of hexadecimal digits, as bytes; an error where it is none, in which ``name`` stands.
    """
    if not isinstance(text, str) or not SECRET.fullmatch(text):
        raise ValueError(f"{name}: is not 32 or more hexadecimal digits; restore it from where it was saved")
    return bytes.fromhex(text)



def _write_once(path: Path, text: str) -> None:
    """Write a text file unless it exists; it appears whole, and one that another process wrote meanwhile is kept."""
    beside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        durable_writer(text)(beside)
        try:
            os.link(beside, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def usual_folder() -> Path:
    """Return the folder in which the platform keeps one person's data of this program; XDG_DATA_HOME changes it."""
    if os.environ.get("XDG_DATA_HOME"):
        return Path(os.environ["XDG_DATA_HOME"]) / "sfumato"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "sfumato"
    return Path.home() / ("Library/Application Support" if sys.platform == "darwin" else ".local/share") / "sfumato"
