#!/usr/bin/env python3
"""cutter.py UPSTREAM N kill|lose COMMAND…: runs COMMAND with {} replaced by the port of a proxy to UPSTREAM (host:port, plain
HTTP). When its N-th request has been carried out, before it hears of that, COMMAND is killed, or that connection is cut and
COMMAND goes on. Prints that request. Exit code 0: it was killed there, or ended well after the cut; 1: not so."""
import http.client
import http.server
import socketserver
import subprocess
import sys
import threading

upstream, limit, kind, command = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
lock = threading.Lock()
seen = []
cut_there = threading.Event()


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with lock:
            seen.append(self.command + " " + self.path.split("?")[0])
            number = len(seen)
        if "watch=true" in self.path:
            # A stream has no end that could be waited for.
            if number == limit:
                return self.cut()
            return self.stream(body)
        connection = http.client.HTTPConnection(upstream, timeout=60)
        connection.request(self.command, self.path, body, {k: v for k, v in self.headers.items() if k.lower() != "host"})
        answer = connection.getresponse()
        content = answer.read()
        if number == limit:
            return self.cut()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def stream(self, body):
        connection = http.client.HTTPConnection(upstream, timeout=300)
        connection.request(self.command, self.path, body, {"Accept": "application/json"})
        answer = connection.getresponse()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while part := answer.read1(65536):
            self.wfile.write(part)
            self.wfile.flush()

    def cut(self):
        cut_there.set()
        if kind == "kill":
            child.kill()
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Proxy)
child = subprocess.Popen([word.replace("{}", str(server.server_port)) for word in command], stderr=subprocess.DEVNULL)
threading.Thread(target=server.serve_forever, daemon=True).start()
ended = child.wait()
print(seen[limit - 1] if len(seen) >= limit else f"only {len(seen)} requests", flush=True)
sys.exit(0 if cut_there.is_set() and (kind == "kill" or ended == 0) else 1)
