"""A relay with nothing behind it: sites say what they heard. What FLARE itself costs."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nvflare.collab import collab


class Site:
    @collab.publish
    def ask(self, frame: bytes) -> bytes:
        return frame


class Lead:
    @collab.main
    def run(self):
        _, size, times = map(int, collab.get_app_prop("job").split())
        sites, spent = list(collab.clients), []
        with ThreadPoolExecutor(len(sites)) as threads:
            for _ in range(times):
                began = time.monotonic()
                list(threads.map(lambda site: site(timeout=60).ask(bytes(size)), sites))
                spent.append(time.monotonic() - began)
        place = Path(collab.workspace.get_run_dir(collab.fl_ctx.get_job_id()), "steffle")
        place.mkdir()
        result = {"status": 0, "said": [str(sorted(spent)[times // 2])]}
        (place / "result.json").write_text(json.dumps(result))
