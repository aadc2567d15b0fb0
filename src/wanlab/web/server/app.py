"""The routes of the server."""

from __future__ import annotations

import mimetypes
import os
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from wanlab.documentation import SITE, doc_pages
from wanlab.errors import WanlabError
from wanlab.shared_folder import file_error
from wanlab.units import whole_number

from ..folder import OutsideError
from ..laboratory import Laboratory, error_body
from ..packets.packet_list import list_packets, packet_details, time_sequence_page
from ..protocol import messages
from .terminal_socket import terminal_socket
from .uploads import Uploads
from .websocket import live_socket

STATIC = Path(__file__).parents[1] / "static"
DOCUMENTATION = "/documentation"
DOCUMENTATION_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; frame-ancestors 'none'"
)
NOT_BUILT = """<!doctype html><meta charset="utf-8"><title>wanlab</title>
<p>The page has not been built yet. Run <code>./dev ui</code> to build it.</p>"""
NO_DOCUMENTATION = """<!doctype html><meta charset="utf-8"><title>wanlab</title>
<p>The documentation has not been built yet. Run <code>./dev docs build</code> to build it.</p>"""
DATA_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
PDF_POLICY = "frame-ancestors 'self'"
MIN_COMPRESSED_BYTES = 1000
CACHE_FOREVER = "public, max-age=31536000, immutable"
SHOWN_TYPES = {
    "application/pdf",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/svg+xml",
    "image/webp",
    "text/html",
    "text/plain",
    "text/csv",
    "application/json",
}
TEXT_SUFFIXES = {
    ".mn",
    ".yaml",
    ".yml",
    ".json",
    ".py",
    ".sh",
    ".log",
    ".out",
    ".dat",
    ".txt",
    ".conf",
}


def application(laboratory: Laboratory, static: Path = STATIC) -> Starlette:
    """Return the application without authentication; `static` holds the built page."""
    routes = [
        Route("/", _page),
        Route("/api/state", _state),
        Route("/api/files", _list_files),
        Route("/api/files/{path:path}", _file, methods=["GET", "PUT"]),
        Route("/api/packets/{path:path}", _packets),
        Route("/api/export/{form}", _export),
        Route("/api/branches/{branch}/events", _events),
        Route("/api/branches/{branch}/terminals", _recorded_terminals),
        Route("/api/gallery", _gallery),
        Route("/api/lessons", _lessons),
        Route("/api/lessons/{unit}", _lesson),
        Route("/api/lessons/{unit}/{name}.svg", _figure),
        WebSocketRoute("/api/live", live_socket),
        WebSocketRoute("/api/terminals/{name}", terminal_socket),
    ]
    if (static / "assets").is_dir():
        routes.append(Mount("/assets", Assets(directory=static / "assets")))
    routes += documentation_routes()
    app = Starlette(routes=routes, exception_handlers={WanlabError: _error_response})  # type: ignore[dict-item]
    app.add_middleware(GZipMiddleware, minimum_size=MIN_COMPRESSED_BYTES)
    app.state.laboratory = laboratory
    app.state.static = static
    app.state.uploads = Uploads()
    return app


def documentation_routes() -> list[Route | Mount]:
    """Return the routes of the documentation."""
    first = Route(DOCUMENTATION, _documentation)
    if not SITE.is_dir():
        return [first]
    return [first, Mount(DOCUMENTATION, Documentation(directory=SITE))]


class Assets(StaticFiles):
    """Files of the built page. Their names contain a hash of their content."""

    def file_response(self, *arguments: object, **options: object) -> Response:
        response: Response = super().file_response(*arguments, **options)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = CACHE_FOREVER
        return response


class Documentation(StaticFiles):
    """The pages of the documentation. Their scripts are wanlab's own and partly inline."""

    def file_response(self, *arguments: object, **options: object) -> Response:
        response: Response = super().file_response(*arguments, **options)  # type: ignore[arg-type]
        response.headers["Content-Security-Policy"] = DOCUMENTATION_POLICY
        return response


class OpenFileResponse(FileResponse):
    """A file that is open already, because its name may be another file's by now."""

    def __init__(self, file: BinaryIO, **options: Any) -> None:
        number = file.fileno()
        super().__init__(f"/proc/self/fd/{number}", stat_result=os.fstat(number), **options)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _error_response(request: Request, error: WanlabError) -> Response:
    return _json(error_body(error), 404 if isinstance(error, OutsideError) else 400)


def _laboratory(request: Request) -> Laboratory:
    laboratory: Laboratory = request.app.state.laboratory
    return laboratory


async def _page(request: Request) -> Response:
    page = Path(request.app.state.static) / "index.html"
    if not page.is_file():
        return HTMLResponse(NOT_BUILT, status_code=503)
    return FileResponse(page, media_type="text/html", headers={"Cache-Control": "no-cache"})


async def _documentation(request: Request) -> Response:
    """Lead to the documentation's first page, or say how to build it."""
    try:
        (home, *_) = doc_pages()
    except WanlabError:
        return HTMLResponse(NO_DOCUMENTATION, status_code=503)
    path = f"{DOCUMENTATION}/{home.path.relative_to(SITE)}"
    return RedirectResponse(request.scope["root_path"] + path)


async def _state(request: Request) -> Response:
    return _json(_laboratory(request).state())


async def _list_files(request: Request) -> Response:
    folder = _laboratory(request).folder
    under = request.query_params.get("under", "")
    return _json(await run_in_threadpool(folder.list, under))


async def _file(request: Request) -> Response:
    path = request.path_params["path"]
    folder = _laboratory(request).folder
    if request.method == "PUT":
        uploads: Uploads = request.app.state.uploads
        async with uploads.body(request) as data:
            if (limit := _laboratory(request).rules.folder_limit) is not None:
                await run_in_threadpool(limit.check, len(data))
            await run_in_threadpool(folder.write_bytes, path, data)
        await _laboratory(request).note_upload(path)
        _laboratory(request).broadcast.push(messages.FilesPush(paths=(path,)))
        return _json(messages.SavedFile(path))
    name = Path(folder.name(path))
    try:
        file = folder.open(path)
    except (FileNotFoundError, NotADirectoryError):
        return _json(messages.ErrorBody(f"no file {path}"), 404)
    except OSError as error:
        raise file_error("read", path, error) from None
    kind = (
        "text/plain" if name.suffix.lower() in TEXT_SUFFIXES else mimetypes.guess_type(name.name)[0]
    )
    is_download = "download" in request.query_params or kind not in SHOWN_TYPES
    disposition = "attachment" if is_download else "inline"
    return OpenFileResponse(
        file,
        media_type=kind or "application/octet-stream",
        headers={
            "Content-Disposition": f"{disposition}; filename*=utf-8''{quote(name.name)}",
            "Content-Security-Policy": PDF_POLICY if kind == "application/pdf" else DATA_POLICY,
        },
    )


async def _packets(request: Request) -> Response:
    folder, path = _laboratory(request).folder, request.path_params["path"]
    if not folder.shared.exists(folder.name(path)):
        return _json(messages.ErrorBody(f"no file {path}"), 404)
    asked = request.query_params
    number, after = (whole_number(asked.get(name) or "0") for name in ("number", "after"))
    if number is None or after is None:
        raise WanlabError("packets are numbered from 1")
    if number:
        return _json(await run_in_threadpool(packet_details, folder.shared, path, number))
    if (sequence := asked.get("sequence")) is not None:
        return _json(await run_in_threadpool(time_sequence_page, folder.shared, path, sequence))
    words, flow = asked.get("words", ""), asked.get("flow", "")
    page = partial(list_packets, folder.shared, path, after=after, words=words, flow=flow)
    return _json(await run_in_threadpool(page))


async def _events(request: Request) -> Response:
    return _json(_laboratory(request).branches.events(request.path_params["branch"]))


async def _recorded_terminals(request: Request) -> Response:
    return _json(_laboratory(request).branches.terminals(request.path_params["branch"]))


async def _gallery(request: Request) -> Response:
    return _json(await run_in_threadpool(_laboratory(request).gallery.snapshot))


async def _lessons(request: Request) -> Response:
    return _json(_laboratory(request).lessons.snapshot())


async def _lesson(request: Request) -> Response:
    lessons = _laboratory(request).lessons
    return _json(await run_in_threadpool(lessons.page, request.path_params["unit"]))


async def _figure(request: Request) -> Response:
    unit, name = request.path_params["unit"], request.path_params["name"]
    path = _laboratory(request).lessons.figure(unit, name)
    headers = {"Content-Security-Policy": DATA_POLICY}
    return FileResponse(path, media_type="image/svg+xml", headers=headers)


async def _export(request: Request) -> Response:
    name, content, kind = _laboratory(request).export(request.path_params["form"])
    headers = {"Content-Disposition": f"attachment; filename*=utf-8''{quote(name)}"}
    headers["Content-Security-Policy"] = DATA_POLICY
    return Response(content, media_type=kind, headers=headers)
