#!/usr/bin/env python3
"""The network between two hosts: TCP forwarded between two network namespaces, with faults.

links.py PID_OF_FAR_NAMESPACE PORTS…   PORTS is KIND:FIRST[-LAST]

Here the near host is 127.0.0.1 and this process listens as the far one, 127.0.0.2; in the far namespace it is the
other way round. So every connection between the two passes here, and nobody has to know. Faults are lines of stdin:

  KIND|all pass            heal
  KIND|all cut             end its connections and take no new one
  KIND|all stall SIDE      nothing arrives from `near`, `far` or `both`; connections stay
  KIND|all delay MS        each piece arrives so much later
  KIND|all truncate BYTES  each connection of now passes so many bytes more, then ends; at the latest when it is healed

Each healing is answered by a line of what the fault met: healed NUMBER CONNECTIONS PIECES BYTES. Connections are those
ended or refused, in the middle of what they had to pass if it was to truncate; pieces were held up.
"""
import asyncio
import collections
import ctypes
import fcntl
import os
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PIECE = 1 << 16
HOSTS = {"near": "127.0.0.1", "far": "127.0.0.2"}
met = collections.Counter()  # by the fault of now


class Namespace:
    """Entered while a socket is made; a socket stays where it was made."""

    def __init__(self, pid):
        self.file = open(f"/proc/{pid}/ns/net")

    def enter(self):
        if ctypes.CDLL(None, use_errno=True).setns(self.file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "cannot enter the network namespace")

    def socket(self, home):
        self.enter()
        try:
            return socket.socket()
        finally:
            home.enter()

    def raise_loopback(self, home):
        with self.socket(home) as s:
            fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


class Rule:
    """How the connections of one kind fare now."""

    def __init__(self):
        self.healed = asyncio.Event()
        self.connections = set()
        self.set("pass", "")

    def set(self, fault, value):
        self.fault, self.value = fault, value
        self.healed.set() if fault != "stall" else self.healed.clear()
        for c in list(self.connections):
            if fault == "cut":
                met["connections"] += 1
            if fault == "cut" or c.left is not None:
                c.cut()
            c.left = int(value) if fault == "truncate" else None

    def stalls(self, side):
        return self.fault == "stall" and self.value in (side, "both")

    async def admit(self, connection, side, piece):
        """What of a piece that came from a side may pass; b"" ends the connection."""
        if self.fault == "delay" or self.stalls(side):
            met.update(pieces=1, bytes=len(piece))
        while self.stalls(side):
            await self.healed.wait()
        if self.fault == "delay":
            await asyncio.sleep(int(self.value) / 1000)
        if connection.left is not None:
            met["connections"] += len(piece) >= connection.left
            piece = piece[: connection.left]
            connection.left -= len(piece)
        return piece


class Connection:
    def __init__(self, rule, writers):
        self.rule, self.writers, self.left = rule, writers, None
        rule.connections.add(self)

    def end(self):
        self.rule.connections.discard(self)
        for w in self.writers:
            w.close()

    def cut(self):
        self.rule.connections.discard(self)
        for w in self.writers:
            w.transport.abort()

    async def pump(self, side, reader, writer):
        try:
            while piece := await reader.read(PIECE):
                piece = await self.rule.admit(self, side, piece)
                writer.write(piece)
                await writer.drain()
                if self.left == 0:
                    break
        except OSError:
            pass
        self.end()


async def forward(rule, side, home, target, address, reader, writer):
    """One connection that a process of `side` made."""
    if rule.fault == "cut":
        met["connections"] += 1
        return writer.close()
    try:
        s = target.socket(home)
        s.setblocking(False)
        await asyncio.get_running_loop().sock_connect(s, address)
        onward_reader, onward_writer = await asyncio.open_connection(sock=s)
    except OSError:
        return writer.close()
    connection = Connection(rule, (writer, onward_writer))
    other = "far" if side == "near" else "near"
    await asyncio.gather(
        connection.pump(side, reader, onward_writer), connection.pump(other, onward_reader, writer)
    )


async def obey(rules):
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    heals = 0
    while line := (await reader.readline()).decode().split():
        kind, fault, value = line[0], line[1], line[2] if len(line) > 2 else ""
        for name, rule in rules.items():
            if kind in (name, "all"):
                rule.set(fault, value)
        if fault == "pass":
            heals += 1
            print("healed", heals, met["connections"], met["pieces"], met["bytes"], flush=True)
            met.clear()


async def main():
    home, far = Namespace("self"), Namespace(sys.argv[1])
    spaces = {"near": home, "far": far}
    for space in spaces.values():
        space.raise_loopback(home)
    rules = {}
    for spec in sys.argv[2:]:
        kind, _, ports = spec.partition(":")
        first, _, last = ports.partition("-")
        rule = rules.setdefault(kind, Rule())
        for port in range(int(first), int(last or first) + 1):
            for side, other in (("near", "far"), ("far", "near")):
                s = spaces[side].socket(home)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind((HOSTS[other], port))
                await asyncio.start_server(
                    lambda r, w, rule=rule, side=side, other=other, port=port: forward(
                        rule, side, home, spaces[other], (HOSTS[other], port), r, w
                    ),
                    sock=s,
                )
    print("ready", flush=True)
    await obey(rules)
    os._exit(0)


asyncio.run(main())
