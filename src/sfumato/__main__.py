"""`python -m sfumato` is the command line."""

import os
import sys

if not sys.flags.safe_path and sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(os.curdir):
    del sys.path[0]  # python -m puts the working folder first, and a folder of data must not bring code

from sfumato.cli import main

if __name__ == "__main__":
    main()
