"""The ``steffle`` command: ``python -m steffle``."""

import sys

from steffle._command import main

if __name__ == "__main__":
    sys.exit(main())
