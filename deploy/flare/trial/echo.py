#!/usr/bin/env python3
"""Stands in for `steffle` where only the transport is measured: a node that says what it heard, and
a server that asks so many times. ECHO names the sites, the bytes and the times."""

import os
import struct
import sys
import time


def read() -> bytes:
    head = sys.stdin.buffer.read(8)
    if len(head) < 8:
        sys.exit(0)
    return sys.stdin.buffer.read(struct.unpack("<Q", head)[0])


def write(body: bytes) -> None:
    sys.stdout.buffer.write(struct.pack("<Q", len(body)) + body)
    sys.stdout.buffer.flush()


if sys.argv[1] == "node":
    while True:
        heard = read()
        write(struct.pack("<Q", len(heard)) + heard + struct.pack("<I", 0))
with open(sys.argv[sys.argv.index("--data") + 1]) as job:
    sites, size, times = map(int, job.read().split())
frame = struct.pack("<I", sites) + b"".join(
    struct.pack("<IQ", site + 1, size) + bytes(size) for site in range(sites)
)
spent = []
for _ in range(times):
    began = time.monotonic()
    write(frame)
    read()
    spent.append(time.monotonic() - began)
print(sorted(spent)[times // 2], file=sys.stderr)
os.makedirs(sys.argv[sys.argv.index("--out") + 1], exist_ok=True)
