"""connect_proxy.py PORT LOG: a proxy for CONNECT on 127.0.0.1; LOG gets a line of each request."""
import socket
import sys
import threading


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client, log):
    head = b""
    while b"\r\n\r\n" not in head:
        part = client.recv(4096)
        if not part:
            return
        head += part
    method, where, _ = head.split(b"\r\n")[0].decode().split(" ")
    with open(log, "a") as lines:
        lines.write(f"{method} {where}\n")
    host, _, port = where.rpartition(":")
    server = socket.create_connection((host.strip("[]"), int(port)))
    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0], sys.argv[2]), daemon=True).start()
