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
from collections.abc import Callable
from pathlib import Path

from sfumato.client.device import Device
from sfumato.client.ledger import Ledger
from sfumato.client.outbox import Outbox
from sfumato.tables import read_json, write_whole

VERSION = 1
SECRET = re.compile("(?:[0-9a-f]{2}){16,512}")


class Home:
    """The device in a folder. Nothing is written before it is needed, and the secret is made once.

    >>> import tempfile
    >>> home = Home(tempfile.mkdtemp())
    >>> home.secret == home.secret, home.ledger.told
    (True, ())
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = usual_folder() if folder is None else Path(folder)

    @property
    def secret(self) -> bytes:
        """The secret, made now where there is none."""
        place = self.make() / "secret"
        if not place.exists():
            if self.ledger.told:
                raise ValueError(f"{place}: the secret of this ledger is gone; restore it from where it was saved")
            _write_once(place, secrets.token_hex(32) + "\n")
        return _secret_of(place.read_text(encoding="utf-8", errors="replace").strip(), place.name)

    @property
    def ledger(self) -> Ledger:
        """The ledger as it is in the file now."""
        return Ledger.open(self.folder / "ledger.json")

    @property
    def device(self) -> Device:
        """The device, with the ledger that its answers are remembered in."""
        return Device(self.secret, self.ledger)

    @property
    def has_outbox(self) -> bool:
        return (self.folder / "outbox.sqlite").exists()

    def outbox(self, *, insecure: bool = False) -> Outbox:
        return Outbox(self.make() / "outbox.sqlite", insecure=insecure)

    def export(self, path: str | Path) -> None:
        """Save secret and ledger in a file: whoever has it and this device's reports can work out its answers."""
        document = {"device": VERSION, "secret": self.secret.hex(), "ledger": json.loads(self.ledger.dumps())}
        write_whole(Path(path), _writer(json.dumps(document, ensure_ascii=False, indent=1) + "\n"), mode=0o600)

    def restore(self, path: str | Path) -> None:
        """Take over a saved secret and its limit; whatever this device or the saved one has told stays told."""
        secret, saved = read_saved(path)
        folder, here = self.make(), self.ledger
        here.told += tuple(each for each in saved.told if each not in here.told)
        here.receipts += tuple(each for each in saved.receipts if each not in here.receipts)
        here.limit = saved.limit
        here.save()
        write_whole(folder / "secret", _writer(secret.hex() + "\n"), mode=0o600)

    def make(self) -> Path:
        """The folder, made now where there is none."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder


def read_saved(path: str | Path) -> tuple[bytes, Ledger]:
    """The secret and the ledger in a file that a device has saved."""
    place = Path(path)
    try:
        data = read_json(place.read_bytes().decode("utf-8"), "the file")
        if not isinstance(data, dict) or set(data) != {"device", "secret", "ledger"}:
            raise ValueError("not a saved device; it has the keys device, secret and ledger")
        if data["device"] != VERSION:
            raise ValueError(f"a device of version {data['device']!r}; this one reads version {VERSION}")
        return _secret_of(data["secret"], "secret"), Ledger.loads(json.dumps(data["ledger"]))
    except UnicodeDecodeError:
        raise ValueError(f"{place.name}: not a text file in UTF-8; nothing was changed") from None
    except ValueError as error:
        raise ValueError(f"{place.name}: {error}; nothing was changed") from None


def _secret_of(text: object, name: str) -> bytes:
    if not isinstance(text, str) or not SECRET.fullmatch(text):
        raise ValueError(f"{name}: is not 32 or more hexadecimal digits; restore it from where it was saved")
    return bytes.fromhex(text)


def _writer(text: str) -> Callable[[Path], object]:
    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    return write


def _write_once(place: Path, text: str) -> None:
    """A file that is whole as soon as it is there, and stays what it was where another process was first."""
    beside = place.with_name(f".{place.name}-{secrets.token_hex(8)}")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _writer(text)(beside)
        try:
            os.link(beside, place)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not place.exists():
                os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)


def usual_folder() -> Path:
    """Where programs keep what belongs to one person: by platform, or by XDG_DATA_HOME."""
    if os.environ.get("XDG_DATA_HOME"):
        return Path(os.environ["XDG_DATA_HOME"]) / "sfumato"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "sfumato"
    return Path.home() / ("Library/Application Support" if sys.platform == "darwin" else ".local/share") / "sfumato"
