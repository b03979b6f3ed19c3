"""The relay, and between any two of its exchanges the same bytes without it: what FLARE itself costs."""

import json
import struct
import time
from statistics import median

from nvflare.collab import collab

import steffle_relay


class Site(steffle_relay.Site):
    @collab.publish
    def bare(self, frame: bytes) -> bytes:
        """As many bytes back as `echo.py` says behind the relay."""
        return bytes(struct.unpack_from("<Q", frame)[0])


class Paired:
    """The server's process, before whose every exchange another one goes bare."""

    def __init__(self, child, exchange):
        self.child, self.exchange = child, exchange
        self.bare, self.ours = [], []

    def read(self):
        began = time.monotonic()
        self.exchange()
        self.began = time.monotonic()
        self.bare.append(self.began - began)
        return self.child.read()

    def write(self, *pieces):
        self.child.write(*pieces)
        self.ours.append(time.monotonic() - self.began)


class Lead(steffle_relay.Lead):
    def _carry(self, child, sites, threads):
        _, out, back, _ = map(int, collab.get_app_prop("job").split())
        frame = struct.pack("<Q", back) + bytes(out - 8)

        def exchange():
            list(threads.map(lambda site: site(timeout=60).bare(frame), sites))

        self.paired = Paired(child, exchange)
        super()._carry(self.paired, sites, threads)

    def _result(self, result, out):
        # The first exchanges start processes.
        bare, ours = (median(spent[10:]) for spent in (self.paired.bare, self.paired.ours))
        super()._result({**result, "said": [json.dumps([bare, ours])]}, out)
