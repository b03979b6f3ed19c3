"""Every Python example of the documents runs."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
BLOCKS = [
    (name, place, block)
    for name in ["README.md", "docs/PYTHON.md"]
    for place, block in enumerate(BLOCK.findall((ROOT / name).read_text()))
]


def test_there_are_examples():
    assert {name for name, _, _ in BLOCKS} == {"README.md", "docs/PYTHON.md"}


@pytest.mark.parametrize("name,place,block", BLOCKS)
def test_examples_run(name, place, block, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    example = tmp_path / f"block_{place}_of_{Path(name).stem}.py"
    example.write_text(block)
    runpy.run_path(str(example))
