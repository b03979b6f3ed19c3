"""The notebook runs from its first cell to its last, and draws what it promises."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples/adult.ipynb"


def test_the_notebook_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    told = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in told if "image/png" in output.get("data", {})]
    assert len(pictures) == 2
    pages = " ".join(output["data"]["text/html"] for output in told if "text/html" in output.get("data", {}))
    assert "Privacy (simulation)" in pages
    shown = [output["data"].get("text/plain", "") for output in told if "data" in output]
    # Progress is told under the cells that train, in place.
    assert shown.count("steffle: done") == 2, shown
