#!/usr/bin/env python3
"""Stands in for `steffle` where only the transport is measured: a node that replies with as many bytes
as it is asked for, and a server that asks so many times. The job names sites, bytes out, bytes back and
times."""

import os
import struct
import sys


def read() -> bytes:
    head = sys.stdin.buffer.read(8)
    if len(head) < 8:
        sys.exit(0)
    return sys.stdin.buffer.read(struct.unpack("<Q", head)[0])


def write(body: bytes) -> None:
    sys.stdout.buffer.write(struct.pack("<Q", len(body)) + body)
    sys.stdout.buffer.flush()


if sys.argv[1] == "node":
    # A frame to a node begins with the number of its sender.
    (back,) = struct.unpack_from("<Q", read(), 4)
    reply = struct.pack("<Q", back) + bytes(back) + struct.pack("<I", 0)
    write(reply)
    while read():
        write(reply)
with open(sys.argv[sys.argv.index("--data") + 1]) as job:
    sites, out, back, times = map(int, job.read().split())
request = struct.pack("<Q", back) + bytes(out - 8)
frame = struct.pack("<I", sites) + b"".join(
    struct.pack("<IQ", site + 1, out) + request for site in range(sites)
)
for _ in range(times):
    write(frame)
    read()
os.makedirs(sys.argv[sys.argv.index("--out") + 1], exist_ok=True)
