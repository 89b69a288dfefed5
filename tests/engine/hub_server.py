"""A small Hugging Face hub on loopback, as far as downloading a model needs one: for tests of the hub path."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Repo:
    """One repository: its files per revision name."""

    folders: dict[str, Path]
    """Branch, tag or commit → the files at it."""
    gated: bool = False
    token: str | None = None
    """The token that may read it; None: anyone."""

    def commit(self, revision: str) -> str:
        """A stable 40-digit commit for a revision's folder."""
        return hashlib.sha1(str(self.folders[revision]).encode()).hexdigest()

    def folder(self, revision: str) -> Path | None:
        for name, folder in self.folders.items():
            if revision in (name, self.commit(name)):
                return folder
        return None


@dataclass
class Hub:
    """The running server. ``url`` is what HF_ENDPOINT must be."""

    url: str
    repos: dict[str, Repo] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    """(method, path) of each request, in order."""
    tokens: list[str] = field(default_factory=list)
    """Authorization headers seen."""
    seconds_per_chunk: float = 0.0
    """Slows downloads down, for tests that cancel one."""

    def files_fetched(self) -> list[str]:
        return [path.rpartition("/")[2] for method, path in self.requests if method == "GET" and "/resolve/" in path]


@contextmanager
def serve() -> Iterator[Hub]:
    """Start a hub on a free port of 127.0.0.1; it ends with the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        def do_HEAD(self) -> None:
            self.answer()

        def log_message(self, *_: object) -> None:
            pass

        def answer(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append((self.command, path))
            token = self.headers.get("Authorization", "")
            if token:
                hub.tokens.append(token)
            if path.startswith("/api/models/"):
                name, _, revision = path.removeprefix("/api/models/").partition("/revision/")
                file = None
            else:
                name, _, rest = path.removeprefix("/").partition("/resolve/")
                revision, _, file = rest.partition("/")
            repo = hub.repos.get(name)
            if repo is None:
                return self.fail(401, "RepoNotFound")
            if repo.gated:
                return self.fail(403, "GatedRepo")
            if repo.token is not None and token != f"Bearer {repo.token}":
                return self.fail(401, "RepoNotFound")
            folder = repo.folder(revision or "main")
            if folder is None:
                return self.fail(404, "RevisionNotFound")
            commit = next(repo.commit(key) for key, value in repo.folders.items() if value == folder)
            if file is None:
                return self.listing(name, folder, commit)
            if not (folder / file).is_file():
                return self.fail(404, "EntryNotFound")
            return self.file(folder / file, commit)

        def fail(self, status: int, code: str) -> None:
            self.respond(status, b"", {"X-Error-Code": code, "X-Error-Message": code})

        def listing(self, name: str, folder: Path, commit: str) -> None:
            files = [{"rfilename": str(file.relative_to(folder)), "size": file.stat().st_size,
                      "blobId": hashlib.sha1(file.read_bytes()).hexdigest()}
                     for file in sorted(folder.rglob("*")) if file.is_file()]
            body = {"_id": "0" * 24, "id": name, "modelId": name, "sha": commit, "siblings": files, "private": False,
                    "gated": False, "disabled": False, "downloads": 0, "likes": 0, "tags": []}
            self.respond(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

        def file(self, file: Path, commit: str) -> None:
            body = file.read_bytes()
            headers = {"ETag": f'"{hashlib.sha1(body).hexdigest()}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
            start, total = 0, len(body)
            wanted = self.headers.get("Range", "")
            if wanted.startswith("bytes=") and self.command == "GET":
                start = int(wanted.removeprefix("bytes=").partition("-")[0])
                headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
            self.respond(206 if start else 200, body[start:], headers)

        def respond(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            try:
                for at in range(0, len(body), 1 << 14):
                    self.wfile.write(body[at : at + (1 << 14)])
                    time.sleep(hub.seconds_per_chunk)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client cancelled

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub = Hub(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
