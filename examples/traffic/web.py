"""A web server with its files: nginx in a node, serving a folder that the machine shares."""

from __future__ import annotations

from pathlib import Path

CONFIGURATION = """
user root;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    sendfile on;
    server {{ listen 80; root {folder}/files; }}
}}
"""


def make_site(folder: Path, sizes: dict[str, int]) -> str:
    """Create files of these names and sizes in bytes. Return the command that serves them."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    for name, size in sizes.items():
        (files / name).write_bytes(bytes(size))
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder), encoding="ascii")
    return f"nginx -c {configuration} -e {folder}/error.log"
