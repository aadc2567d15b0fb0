"""The server shows the documentation, or says how to build it."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from wanlab import documentation
from wanlab.cli.docs_verb import docs
from wanlab.web.server import app


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a site with one page."""
    entry = {"name": "index", "title": "Home", "part": "", "file": "index.html"}
    (tmp_path / "pages.json").write_text(json.dumps([entry]))
    (tmp_path / "index.html").write_text("<p>Emulate networks</p>")
    monkeypatch.setattr(app, "SITE", tmp_path)
    monkeypatch.setattr(documentation.doc_pages, "__defaults__", (tmp_path,))
    monkeypatch.setattr(documentation.find, "__defaults__", (tmp_path,))
    return tmp_path


def get(path: str) -> httpx.Response:
    laboratory: Any = None
    transport = httpx.ASGITransport(app.application(laboratory))

    async def fetch() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get(path, follow_redirects=True)

    with ThreadPoolExecutor(1) as pool:  # Playwright leaves a running loop in this thread
        return pool.submit(asyncio.run, fetch()).result()


def test_the_first_page_is_shown_with_a_policy_of_its_own(site: Path) -> None:
    shown = get("/documentation")
    assert "Emulate networks" in shown.text
    assert shown.headers["Content-Security-Policy"] == app.DOCUMENTATION_POLICY


def test_nothing_outside_the_site_is_shown(site: Path) -> None:
    (site.parent / "secret.txt").write_text("secret")
    assert get("/documentation/%2e%2e/secret.txt").status_code == 404


def test_without_a_site_the_page_says_how_to_build_it(site: Path) -> None:
    (site / "pages.json").unlink()
    shown = get("/documentation")
    assert (shown.status_code, "./dev docs build" in shown.text) == (503, True)


def test_the_command_prints_the_path_of_a_page(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs("index", lists=False, no_browser=True)
    assert capsys.readouterr().out == f"{site / 'index.html'}\n"
    docs("index", lists=True, no_browser=True)
    assert "Home" in capsys.readouterr().out
