"""The device in JavaScript in a browser: Chromium loads it under a strict policy, and gives the shared vectors."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest

from sfumato.local import aggregate_file, device_script

CLIENT = Path(__file__).parents[2] / "clients" / "js"
VECTORS = CLIENT / "vectors" / "local-reports.json"
POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'"  # no inline script, no eval
PAGE = b'<!DOCTYPE html><title>vectors</title><script type="module" src="test/page.js"></script>'
FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "/": ("text/html", lambda: PAGE),
    "/test/page.js": ("text/javascript", (CLIENT / "test" / "page.js").read_bytes),
    "/test/check-vectors.js": ("text/javascript", (CLIENT / "test" / "check-vectors.js").read_bytes),
    "/sfumato-device.js": ("text/javascript", device_script),
    "/vectors.json": ("application/json", VECTORS.read_bytes),
}
OFF = ("gpu", "quic", "background-networking", "component-update", "sync")
FLAGS = ("--headless", "--no-sandbox", "--no-first-run", *(f"--disable-{feature}" for feature in OFF))
PATIENCE = 120.0  # seconds, on a machine that is busy with other things


class Pages(BaseHTTPRequestHandler):
    """The page, what it loads, and where it tells what it found."""

    told: Queue[dict[str, Any]]

    def do_GET(self) -> None:
        kind, content = FILES.get(self.path, ("text/plain", bytes))
        body = content()
        self.send_response(200 if body else 404)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the page in Chromium told; without a browser the tests are skipped, never passed."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium on this machine")
    Pages.told = Queue()
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        shown = subprocess.Popen(
            [browser, *FLAGS, profile, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield Pages.told.get(timeout=PATIENCE)
        finally:
            shown.terminate()
            shown.wait(timeout=PATIENCE)
            server.shutdown()


def test_chromium_gives_the_vectors(told: dict[str, Any]) -> None:
    assert told["failures"] == []
    assert told["checked"] == {kind: len(list_) for kind, list_ in json.loads(VECTORS.read_text("ascii")).items()}
    assert "Chrome" in told["agent"]


def test_three_pages_with_one_storage_draw_one_answer(told: dict[str, Any], tmp_path: Path) -> None:
    lines = told["remembered"]
    assert (len(lines), len(set(lines))) == (3, 1)
    headers = json.loads(VECTORS.read_text("ascii"))["headers"]
    header = next(text for text in headers if '"protocol":"olh"' in text and '"a","b","c"' in text)
    (tmp_path / "reports.jsonl").write_text("\n".join([header, *lines, ""]))
    assert aggregate_file(tmp_path / "reports.jsonl").users == 3
