"""The respondent's page: a folder of static files that any server can serve, made from a plan alone.

The folder holds ``survey.json`` (the questions, the programs that blur, the sentences), the page and the device in
JavaScript, and ``model.json`` where a model is sent back to the people. Opened in a browser, the page connects only to
the server that it came from and the address that reports are sent to; a Content-Security-Policy in it enforces that.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from sfumato.plan import Plan, survey
from sfumato.prose import json_text, voice
from sfumato.tables import write_text

MODEL = "model.json"
SHOWN = (".js", ".css")
"""The endings of the files that a browser reads beside index.html."""
MOST_CHOICES = 10_000
"""The most choices of a list on the page. By judgement: browsers open such a list without a pause, and nobody finds an
answer among more."""


def write_page(
    plan: Plan, folder: str | Path, *, submit: str | None = None, collector: str | None = None,
    model: str | Path | None = None,
) -> list[Path]:
    """Write the web page on which people answer a plan into a folder; return the paths of its files, index.html last.

    ``folder``: made where there is none. ``submit``: where reports are sent, an address or a path on the page's own
    server (None: people save their report as a file). ``collector``: the origin that receives reports, for devices that
    refuse a survey which sends them elsewhere. ``model``: the file of a shipped model, in JSON, that the page offers.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{target} is a file; name a folder")
    shipped = None if model is None else _model_text(plan, Path(model))
    texts = page_texts(plan, submit=submit, collector=collector, model=shipped)
    target.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(text, target / name)
    return [target / name for name in texts]


def page_texts(
    plan: Plan, *, submit: str | None = None, collector: str | None = None, model: str | None = None
) -> dict[str, str]:
    """Return the texts of the files of the web page on which people answer a plan, by file name, index.html last.

    ``submit``: where reports are sent, an address or a path on the page's own server (None: people save a file).
    ``collector``: the origin that receives them; ``model``: the text of a model's file, which the page offers.
    """
    static = files("sfumato.client") / "static"
    for name, each in plan.attributes.items():
        if len(getattr(each.domain, "labels", ())) > MOST_CHOICES:
            raise ValueError(f"attributes.{name}: nobody finds an answer among more than {MOST_CHOICES:,}; group them")
        if "categories" in each.domain_spec and isinstance(each.domain_spec["categories"], int):
            raise ValueError(f"attributes.{name}: a page shows categories by name; list them instead of their number")
    home = None if submit is None else _origin(submit)
    if collector is not None and home and collector != home:
        raise ValueError(f"collector = {collector!r} is not where reports are sent; that is {home}")
    document = survey(plan, collector=collector, submit=submit, model=None if model is None else MODEL)
    texts = {"survey.json": json_text(document) + "\n"} | ({} if model is None else {MODEL: model})
    texts |= {
        part.name: part.read_text(encoding="utf-8") for part in static.iterdir() if part.name.endswith(SHOWN)
    }
    index = (static / "index.html").read_text(encoding="utf-8")
    return {**texts, "index.html": _in_language(plan.language, index, home)}


def _origin(submit: str) -> str:
    """Return the origin (scheme and host) of an address, to be named in a Content-Security-Policy.

    Empty for a path on the page's own server; ValueError for what no report can be sent to.
    """
    parts = urlsplit(submit)
    if not parts.scheme and not parts.netloc and parts.path and not parts.query and not parts.fragment:
        return ""
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username is not None:
        raise ValueError(f"submit = {submit!r} is no address; give https://… or a path on the page's own server")
    if parts.query or parts.fragment:
        raise ValueError(f"submit = {submit!r} has a ? or #; reports are withdrawn at submit/<id>, so leave it out")
    if not parts.netloc.isascii() or any(mark in parts.netloc for mark in " ;,'\"*"):
        raise ValueError(f"submit = {submit!r} has a host that no browser accepts; write it in ASCII")
    return f"{parts.scheme}://{parts.netloc}"


def _in_language(language: str, page: str, home: str | None) -> str:
    """Return the text ``page`` of index.html with the words that stand before any script runs in the plan's language.

    ``home``: the origin that the page may connect to beside its own server; None or empty: no other.
    """
    say, english = voice(language), voice("en")
    changes = {
        'lang="en"': f'lang="{language}"',
        english("device.noscript"): escape(say("device.noscript")),
        "connect-src 'self'": f"connect-src 'self' {home}" if home else "connect-src 'self'",
    }
    for old, new in changes.items():
        page = page.replace(old, new, 1)
    return page


def _model_text(plan: Plan, path: Path) -> str:
    """Return the text of a model's file, to be offered on the page of a plan; ValueError if it is from another plan."""
    from sfumato.shipping import load

    shipped = load(path)
    if shipped.plan is not None and shipped.plan.identity != plan.identity:
        raise ValueError(f"{path}: learned by the plan {shipped.plan.name!r}, which is another one; use its own model")
    return path.read_text(encoding="utf-8")
