"""How long does a person on a slow connection wait for the first question, and how many bytes come over the wire?

Chromium slows the connection down to 400 kbit/s, with 400 ms until a response begins, over HTTP/1.1; every file comes
under gzip. The baseline is a page without any script from the same server in the same run. Time is the median of
loads with an empty cache, until the first question can be answered. A run is a load.
"""

import gzip
import statistics
import tempfile
import time
from pathlib import Path

from harness import Bench, main
from playwright.sync_api import Browser, sync_playwright

import sfumato as sf
from sfumato.client.page import write_page
from tests.browser.chromium import Files, chromium_program, serving

SLOW = {"offline": False, "latency": 400, "downloadThroughput": 400_000 / 8, "uploadThroughput": 400_000 / 8}
PLAN = sf.Plan.from_dict({"attributes": {
    "smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19},
    "age": {"low": 20, "high": 80, "channel": "square-wave", "gamma": 9},
}})  # fmt: skip
EMPTY = "<!doctype html><title>empty</title><link rel=icon href=data:,><p id=asked><label>What?</label>"


class Compressed(Files):
    """Files under gzip, over connections that stay open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802 (the name that the library calls)
        path = Path(self.translate_path(self.path))
        data = gzip.compress((path / "index.html" if path.is_dir() else path).read_bytes(), 6)
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if path.is_dir() else self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def seconds(browser: Browser, address: str) -> tuple[float, int, int]:
    """Time to the first question, bytes of the bodies that came, and files."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(60_000)
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Network.emulateNetworkConditions", SLOW)
    sizes: list[float] = []
    wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    if "question" in address:
        page.locator("#next").click()
    page.locator("#asked label").first.wait_for()
    taken = time.perf_counter() - start
    context.close()
    return taken, round(sum(sizes)), len(sizes)


def measure(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        write_page(PLAN, folder / "question", submit="/reports")
        (folder / "empty").mkdir()
        (folder / "empty" / "index.html").write_text(EMPTY, encoding="utf-8")
        written = sum(path.stat().st_size for path in (folder / "question").iterdir())
        browser = playwright.chromium.launch(executable_path=chromium_program())
        heads = {"files": "d", "bytes over the wire": ",d", "uncompressed": ",d", "s": ".2f"}
        bench.table("400 kbit/s, 400 ms", heads)
        with serving(folder, Compressed) as address:
            for label, part in (("an empty page", "empty"), ("the first question", "question")):
                rows = [seconds(browser, f"{address}/{part}/") for _ in range(bench.runs)]
                times, sizes, files = zip(*rows, strict=True)
                stands = written if part == "question" else None
                bench.row(label, max(files), max(sizes), stands, statistics.median(times))


if __name__ == "__main__":
    main(measure, runs=7)
