"""`python -m mipselect.cli` is the same as `mipselect`."""

import sys

from mipselect.cli.app import main

sys.exit(main())
